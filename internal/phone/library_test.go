package phone_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/nyaruka/phonenumbers"

	"campaign-dispatch/internal/phone"
	"campaign-dispatch/localstack/testsize"
)

var form = regexp.MustCompile(`^\+?[0-9]+$`)

// oracle returns the E.164 form according to the library, or "".
func oracle(s string) string {
	if !form.MatchString(s) || len(s) < 10 && s[0] != '+' {
		return "" // without a +, fewer than 10 digits have no area code
	}
	international := "+" + strings.TrimPrefix(s, "+")
	if len(s) == len(international)-1 && (len(s) == 10 || len(s) == 11) {
		international = "+55" + s
	}
	parsed, err := phonenumbers.Parse(international, "ZZ")
	if err != nil || !phonenumbers.IsValidNumber(parsed) {
		return ""
	}
	e164 := phonenumbers.Format(parsed, phonenumbers.E164)
	if strings.HasPrefix(international, "+5590") && e164 != international {
		return "" // a collect call, which only the library accepts
	}
	if withoutAreaCode.MatchString(e164) {
		return "" // a service number, which only the library accepts
	}
	return e164
}

// withoutAreaCode matches the Brazilian numbers that have no area code: of 8 or 9 digits, and those of 10
// digits that begin as one of 9 or as a shared-cost number does.
var withoutAreaCode = regexp.MustCompile(`^\+55(\d{8,9}|(800|500|900|300|303)\d{7})$`)

// check compares Parse with the oracle.
func check(t *testing.T, s string) {
	t.Helper()
	n, rejection := phone.Parse([]byte(s))
	got := ""
	if rejection == nil {
		got = n.String()
	}
	if want := oracle(s); got != want {
		t.Errorf("Parse(%q) = %q, the library says %q", s, got, want)
	}
	if rejection != nil && (rejection.Code == "" || !strings.HasSuffix(rejection.Reason, ".") || n != 0) {
		t.Errorf("Parse(%q) rejects with %d %+v", s, n, *rejection)
	}
}

// TestParse_AgreesWithLibrary compares 100,000 strings, and a million in `make prove`. The
// library looks at four digits of a Brazilian number and at its length, so every such
// beginning is tried at every length; the rest is random and malicious.
func TestParse_AgreesWithLibrary(t *testing.T) {
	t.Parallel()
	compared, workers := testsize.Of(100_000, 1_000_000), runtime.GOMAXPROCS(0)
	for w := range workers {
		t.Run(fmt.Sprint("worker ", w), func(t *testing.T) {
			t.Parallel()
			g := generator{rand.New(rand.NewPCG(55, uint64(w)))}
			for i := w; i < compared; i += workers {
				s, ok := g.beginning(i)
				if !ok {
					s = g.malicious()
				}
				check(t, s)
			}
		})
	}
}

func TestParse_LibraryExamples(t *testing.T) {
	t.Parallel()
	for region := range phonenumbers.GetSupportedRegions() {
		for kind := phonenumbers.FIXED_LINE; kind <= phonenumbers.VOICEMAIL; kind++ {
			if n := phonenumbers.GetExampleNumberForType(region, kind); n != nil {
				check(t, phonenumbers.Format(n, phonenumbers.E164))
			}
		}
	}
}

// TestNumbersFitTheirType makes sure that no country's longest number
// overflows a Number.
func TestNumbersFitTheirType(t *testing.T) {
	t.Parallel()
	metadata, err := phonenumbers.MetadataCollection()
	if err != nil {
		t.Fatal(err)
	}
	for _, country := range metadata.GetMetadata() {
		lengths := country.GetGeneralDesc().GetPossibleLength()
		digits := len(strconv.Itoa(int(country.GetCountryCode()))) + int(lengths[len(lengths)-1])
		if digits > 19 {
			t.Errorf("numbers of %s have up to %d digits", country.GetId(), digits)
		}
	}
}

func FuzzParse(f *testing.F) {
	g := generator{rand.New(rand.NewPCG(1, 2))}
	for range 200 {
		f.Add(g.malicious())
	}
	f.Fuzz(func(t *testing.T, s string) { check(t, s) })
}

// generator makes strings that are nearly numbers.
type generator struct{ *rand.Rand }

// beginning returns the i-th of all four-digit beginnings, at every length a
// Brazilian number might have.
func (g generator) beginning(i int) (string, bool) {
	const shortest, lengths = 7, 6
	s := fmt.Sprintf("+55%04d", i%10_000)
	return s + g.digits(shortest+i/10_000-4), i < lengths*10_000
}

// malicious returns a number with something wrong, or right, in every part.
func (g generator) malicious() string {
	switch g.IntN(10) {
	case 0:
		return g.foreign()
	case 1:
		return g.pick("", "+") + g.digits(g.IntN(22))
	case 2:
		return g.edited(g.brazilian())
	}
	return g.brazilian()
}

// brazilian returns prefixes and a national number of nearly the right length.
func (g generator) brazilian() string {
	country := g.pick("+55", "+55", "+55", "55", "", "", "+", "0055", "+5555")
	trunk := g.pick("", "", "", "", "0", "90", "00", "0"+g.digits(2), "90"+g.digits(2), "0"+g.pick("15", "21", "31", "41", "55", "99"))
	start := g.pick(
		g.digits(2)+g.pick("9", "7", "8", "6", "3", "2", "1", "0"),
		g.pick("11", "21", "55", "90", "99", "20")+g.pick("9", "7", "8", "5", "1"),
		g.pick("800", "500", "900", "300", "303", "301", "0800", "0300", "400", "4004", "4020", "4021", "4370", "4864", "4003"),
	)
	return country + trunk + start + g.digits(4+g.IntN(6))
}

// foreign returns a number of some country, or nearly.
func (g generator) foreign() string {
	code := g.pick("1", "1", "44", "39", "49", "351", "54", "52", "81", "598", "800", "7", "999", g.digits(1), g.digits(2), g.digits(3))
	return g.pick("+", "+", "") + code + g.pick("", "", "0", "1", "9") + g.digits(2+g.IntN(13))
}

// edited returns s with a byte changed, added or removed.
func (g generator) edited(s string) string {
	at := g.IntN(len(s))
	odd := g.pick("+", " ", "-", "x", "a", ".", "(", "\x00", "９", "٣", ";ext=1", "\xff", "tel:", "0", "5")
	return s[:at] + g.pick(odd, odd+s[at:at+1], "") + s[at+1:]
}

func (g generator) pick(from ...string) string { return from[g.IntN(len(from))] }

func (g generator) digits(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('0' + g.IntN(10))
	}
	return string(b)
}
