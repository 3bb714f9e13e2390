package prove

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"campaign-dispatch/localstack/lab/bill"
	"campaign-dispatch/localstack/lab/metering"
)

// keptUnits are the kept units of a million messages, by the order of their events. Their
// GBSeconds contain those of computing, so they are the most that waiting can be.
func keptUnits(t *testing.T, file string) map[string]metering.Units {
	t.Helper()
	text, err := os.ReadFile("../bill/metered/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var kept bill.Metered
	if err := json.Unmarshal(text, &kept); err != nil {
		t.Fatal(err)
	}
	units := map[string]metering.Units{}
	for _, s := range kept.Shapes {
		units[s.Name] = s.Sum().Units
	}
	return units
}

// The limits are kept by the kept units, also on a slow machine, and not by a service that
// uses a few per cent more.
func TestMost_Growth(t *testing.T) {
	t.Parallel()
	const dollars, writes, requests = 0, 1, 2 // the places of the limits
	for name, test := range map[string]struct {
		change func(*metering.Units)
		broken []int
	}{
		"as kept":                       {func(*metering.Units) {}, nil},
		"a slow machine":                {func(u *metering.Units) { u.ComputedGBSeconds += 50_000 }, nil},
		"3 % more of all":               {func(u *metering.Units) { *u = u.Times(1.03) }, []int{dollars, requests}},
		"3 % more requests of queues":   {func(u *metering.Units) { u.SQSRequests *= 1.03 }, []int{requests}},
		"a write more for ten messages": {func(u *metering.Units) { u.Writes += 100_000 }, []int{writes}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for file, limits := range map[string]map[string]most{"usual.json": usualMost, "worst-case.json": isolatedMost} {
				for shape, units := range keptUnits(t, file) {
					test.change(&units)
					broken := brokenBy(t, limits[shape], shape, units)
					for _, place := range test.broken {
						if !slices.Contains(broken, place) {
							t.Errorf("%s, %s: the limits %v are broken, want %v too", file, shape, broken, place)
						}
					}
					if test.broken == nil && broken != nil {
						t.Errorf("%s, %s: the limits %v are broken", file, shape, broken)
					}
				}
			}
		})
	}
}

func brokenBy(t *testing.T, m most, shape string, units metering.Units) (places []int) {
	t.Helper()
	prices, err := metering.PriceList(metering.Virginia)
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range m.judge(bill.Shape{Name: shape, Lines: []bill.Line{{Units: units}}}, prices) {
		if !l.kept() {
			places = append(places, i)
		}
	}
	return places
}

// Where writes are most of the cost, three per cent more of them break the limit.
func TestMost_Writes(t *testing.T) {
	t.Parallel()
	for file, limits := range map[string]map[string]most{"usual.json": usualMost, "worst-case.json": isolatedMost} {
		for shape, units := range keptUnits(t, file) {
			grown := 1.03
			if shape == "clustered" {
				grown = 1.1
			}
			units.Writes *= grown
			if broken := brokenBy(t, limits[shape], shape, units); !slices.Contains(broken, 1) {
				t.Errorf("%s, %s: %.2f times the writes keep the limits", file, shape, grown)
			}
		}
	}
}
