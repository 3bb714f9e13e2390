package window_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"campaign-dispatch/internal/campaign/window"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	instant, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return instant.UTC()
}

// shop is open Monday to Friday from 9 to 21 o'clock and Saturday from 10 to 16, and closed on holidays.
func shop() window.Window {
	w := window.Window{OffHolidays: true, Holidays: []string{"07-09", "2026-12-24"}}
	for day := time.Monday; day <= time.Friday; day++ {
		w.Week[day] = window.Hours{From: 9 * 60, Until: 21 * 60}
	}
	w.Week[time.Saturday] = window.Hours{From: 10 * 60, Until: 16 * 60}
	return w
}

func TestOpens(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		zone     window.Zone
		at, want string
	}{
		"open":                          {window.SaoPaulo, "2026-11-30T15:04:05-03:00", "2026-11-30T15:04:05-03:00"},
		"the first minute":              {window.SaoPaulo, "2026-11-30T09:00:00-03:00", "2026-11-30T09:00:00-03:00"},
		"a second before":               {window.SaoPaulo, "2026-11-30T08:59:59-03:00", "2026-11-30T09:00:00-03:00"},
		"the last second":               {window.SaoPaulo, "2026-11-30T20:59:59-03:00", "2026-11-30T20:59:59-03:00"},
		"the close":                     {window.SaoPaulo, "2026-11-30T21:00:00-03:00", "2026-12-01T09:00:00-03:00"},
		"Saturday evening":              {window.SaoPaulo, "2026-11-28T16:00:00-03:00", "2026-11-30T09:00:00-03:00"},
		"Manaus, an hour later":         {window.Manaus, "2026-11-30T09:00:00-03:00", "2026-11-30T09:00:00-04:00"},
		"Rio Branco, two hours later":   {window.RioBranco, "2026-11-30T09:00:00-03:00", "2026-11-30T09:00:00-05:00"},
		"97 opens with the later":       {window.Amazonas, "2026-11-30T09:00:00-04:00", "2026-11-30T09:00:00-05:00"},
		"97 closes with the earlier":    {window.Amazonas, "2026-11-30T21:00:00-04:00", "2026-12-01T09:00:00-05:00"},
		"Christmas, a Friday":           {window.SaoPaulo, "2026-12-25T12:00:00-03:00", "2026-12-26T10:00:00-03:00"},
		"a local holiday before":        {window.SaoPaulo, "2026-12-24T12:00:00-03:00", "2026-12-26T10:00:00-03:00"},
		"a local holiday of each year":  {window.SaoPaulo, "2027-07-09T12:00:00-03:00", "2027-07-10T10:00:00-03:00"},
		"Good Friday":                   {window.SaoPaulo, "2027-03-26T12:00:00-03:00", "2027-03-27T10:00:00-03:00"},
		"Black Awareness Day, a Friday": {window.SaoPaulo, "2026-11-20T08:00:00-03:00", "2026-11-21T10:00:00-03:00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := shop().Opens(test.zone, at(t, test.at)); !got.Equal(at(t, test.want)) {
				t.Errorf("opens at %v, want %s", got, test.want)
			}
		})
	}
}

// Friday at 21:00, closed on Saturday, and Monday is a holiday.
func TestOpens_LongWeekend(t *testing.T) {
	t.Parallel()
	w := shop()
	w.Week[time.Saturday], w.Holidays = window.Hours{}, []string{"2026-12-07"}
	for _, z := range window.All() {
		friday := time.Date(2026, 12, 4, 21, 0, 0, 0, time.FixedZone("", -3*3600))
		if w.Open(z, friday) { // west of São Paulo
			friday = w.Closes(z, friday)
		}
		if got := w.Opens(z, friday); got.Weekday() != time.Tuesday || got.Sub(friday) < 83*time.Hour {
			t.Errorf("in %s, the window opens at %v", z, got)
		}
	}
}

func TestOpens_Never(t *testing.T) {
	t.Parallel()
	var closed window.Window
	if got := closed.Opens(window.SaoPaulo, at(t, "2026-11-30T09:00:00Z")); !got.IsZero() {
		t.Errorf("a window without hours opens at %v", got)
	}
}

// A rule without hours is met for each zone of each batch that waits: no year is searched for it.
//
//nolint:paralleltest // allocations are counted for the whole process
func TestOpens_NeverIsCheap(t *testing.T) {
	from := at(t, "2026-11-30T09:00:00Z")
	closed := window.Window{OffHolidays: true}
	closed.Opens(window.SaoPaulo, from) // reads the zone
	if n := testing.AllocsPerRun(10, func() { closed.Opens(window.SaoPaulo, from) }); n > 10 {
		t.Errorf("an opening that does not exist takes %v allocations, want at most 10", n)
	}
}

// The dates of the almanac.
func TestEaster(t *testing.T) {
	t.Parallel()
	for year, want := range map[int]string{2024: "03-31", 2025: "04-20", 2026: "04-05", 2027: "03-28", 2038: "04-25", 2285: "03-22"} {
		if got := window.Easter(year).Format("01-02"); got != want {
			t.Errorf("Easter of %d is on %s, want %s", year, got, want)
		}
	}
}

// Opens and Closes agree with Open, minute by minute.
func TestWindow_Properties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := window.Window{OffHolidays: rapid.Bool().Draw(t, "holidays")}
		for day := range w.Week {
			if rapid.Bool().Draw(t, "open") {
				from := rapid.IntRange(0, window.Day-1).Draw(t, "from")
				w.Week[day] = window.Hours{From: from, Until: rapid.IntRange(from+1, window.Day).Draw(t, "until")}
			}
		}
		z := rapid.SampledFrom(window.All()).Draw(t, "zone")
		at := time.Date(2026, 11, 18, 0, rapid.IntRange(0, 20*window.Day).Draw(t, "minute"), 0, 0, time.UTC)
		opens := w.Opens(z, at)
		for minute := at; minute.Before(at.AddDate(0, 0, 9)); minute = minute.Add(time.Minute) {
			if w.Open(z, minute) {
				if !opens.Equal(minute) {
					t.Fatalf("opens at %v, but is open at %v", opens, minute)
				}
				break
			}
			if opens.Equal(minute) {
				t.Fatalf("opens at %v, but is closed then", opens)
			}
		}
		closes := w.Closes(z, at)
		for minute := at; minute.Before(closes); minute = minute.Add(time.Minute) {
			if !w.Open(z, minute) {
				t.Fatalf("closes at %v, but is closed at %v", closes, minute)
			}
		}
		if closes.Before(at.Add(24*time.Hour)) && w.Open(z, closes) {
			t.Fatalf("closes at %v, but is open then", closes)
		}
	})
}

func TestParseClock(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"00:00", "09:05", "23:59", "24:00"} {
		if minute, ok := window.ParseClock(good); !ok || window.Clock(minute) != good {
			t.Errorf("%s is read as minute %d, %v", good, minute, ok)
		}
	}
	for _, bad := range []string{"", "9:00", "24:01", "09:60", "09:00:00", "0900", "-1:00", "09:0"} {
		if minute, ok := window.ParseClock(bad); ok {
			t.Errorf("%q is read as minute %d", bad, minute)
		}
	}
}

// The offsets are those of the time zone database, and the local clock of Amazonas is the one by which it opens last.
func TestZone_Offset(t *testing.T) {
	t.Parallel()
	noon := at(t, "2026-11-30T12:00:00Z")
	for _, z := range window.All() {
		offset := strings.ReplaceAll(z.Local(noon).Format("-07"), "-0", "−")
		if z == window.Amazonas {
			offset += "/" + window.Manaus.Offset()
		}
		if z.Offset() != offset {
			t.Errorf("%v: %s, want %s", z, z.Offset(), offset)
		}
	}
	if window.Amazonas.Local(noon).Hour() != window.RioBranco.Local(noon).Hour() || window.Zone(0).Offset() != "" {
		t.Error("the clock of Amazonas is not that of Acre, or the zero zone has an offset")
	}
}

func TestSkipped(t *testing.T) {
	t.Parallel()
	w := shop()
	w.Names = map[string]string{"07-09": "Revolução de 1932"}
	day := func(date string) time.Time { return at(t, date+"T00:00:00Z") }
	for name, test := range map[string]struct {
		at   string
		want []window.Holiday
	}{
		"open":                         {"2026-11-30T12:00:00-03:00", nil},
		"a night":                      {"2026-11-30T22:00:00-03:00", nil},
		"Christmas and a day before":   {"2026-12-23T22:00:00-03:00", []window.Holiday{{Date: day("2026-12-24")}, {Date: day("2026-12-25"), National: "12-25"}}},
		"a local holiday with a name":  {"2027-07-09T12:00:00-03:00", []window.Holiday{{Date: day("2027-07-09"), Name: "Revolução de 1932"}}},
		"Good Friday":                  {"2027-03-26T08:00:00-03:00", []window.Holiday{{Date: day("2027-03-26"), National: window.GoodFriday}}},
		"the evening of a holiday":     {"2027-07-09T22:00:00-03:00", nil},
		"a Sunday before a holiday":    {"2027-11-14T12:00:00-03:00", []window.Holiday{{Date: day("2027-11-15"), National: "11-15"}}},
		"Easter Sunday, always closed": {"2027-03-28T12:00:00-03:00", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			due := at(t, test.at)
			got := w.Skipped(window.SaoPaulo, due, w.Opens(window.SaoPaulo, due))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("holidays (-want +got):\n%s", diff)
			}
		})
	}
	open := w
	open.OffHolidays = false
	if got := open.Skipped(window.SaoPaulo, day("2026-12-24"), day("2026-12-27")); got != nil {
		t.Errorf("open on holidays, and closed on %v", got)
	}
}
