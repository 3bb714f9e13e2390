package area_test

import (
	"os"
	"strings"
	"testing"

	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/reach/area"
)

// codes are the area codes by the places that the comments of zone.tab name.
var codes = map[string][]uint64{
	"SP": {11, 12, 13, 14, 15, 16, 17, 18, 19}, "RJ": {21, 22, 24}, "ES": {27, 28}, "MG": {31, 32, 33, 34, 35, 37, 38},
	"PR": {41, 42, 43, 44, 45, 46}, "SC": {47, 48, 49}, "RS": {51, 53, 54, 55}, "DF": {61}, "GO": {62, 64},
	"Tocantins": {63}, "Mato Grosso": {65, 66}, "Mato Grosso do Sul": {67}, "Acre": {68}, "Rondonia": {69},
	"Bahia": {71, 73, 74, 75, 77}, "Sergipe": {79}, "Alagoas": {82}, "Pernambuco": {81, 87},
	"PB": {83}, "RN": {84}, "CE": {85, 88}, "PI": {86, 89}, "MA": {98, 99},
	"Para (east)": {91, 94}, "Para (west)": {93}, "Amapa": {96}, "Roraima": {95},
	"Amazonas (east)": {92}, "Amazonas (west)": {97}, // 97 spans both
	"Atlantic islands": nil, // they share 81 with Recife
}

// The codes agree with the comments of zone.tab in the IANA time zone database.
func TestZone_AgreesWithZoneTab(t *testing.T) {
	t.Parallel()
	table, err := os.ReadFile("testdata/zone.tab")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[uint64]bool{}
	for line := range strings.Lines(string(table)) {
		columns := strings.Split(strings.TrimSpace(line), "\t")
		places := columns[3]
		if _, list, ok := strings.Cut(strings.TrimSuffix(places, ")"), ": "); ok {
			places = list
		}
		for place := range strings.SplitSeq(places, ", ") {
			of, known := codes[place]
			if !known {
				t.Errorf("no area codes for %q", place)
			}
			for _, code := range of {
				seen[code] = true
				if got := area.Zone(55e11 + code*1e9 + 987654321).String(); got != columns[2] {
					t.Errorf("area code %d (%s) has zone %s, want %s", code, place, got, columns[2])
				}
			}
		}
	}
	if len(seen) != 67 {
		t.Errorf("%d area codes, want 67", len(seen))
	}
}

func TestZone_Numbers(t *testing.T) {
	t.Parallel()
	for number, want := range map[uint64]window.Zone{
		5511987654321:  window.SaoPaulo,
		556833334444:   window.RioBranco, // a landline
		5520987654321:  0,                // no such area code
		351912345678:   0,                // Portugal
		5512345:        0,                // too short
		55119876543210: 0,                // too long
		0:              0,
	} {
		if got := area.Zone(number); got != want {
			t.Errorf("%d has zone %q, want %q", number, got, want)
		}
	}
}
