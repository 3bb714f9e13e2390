package metering

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every price has a source or is named as not found, so that no column of a bill is
// short of a price in silence.
func TestPriceList_EveryPriceHasASource(t *testing.T) {
	t.Parallel()
	names := priceNames(t, Virginia)
	for _, region := range []string{Virginia, SaoPaulo} {
		p, err := PriceList(region)
		if err != nil {
			t.Fatal(err)
		}
		told := slices.Sorted(maps.Keys(p.Sources))
		told = slices.Sorted(slices.Values(append(told, p.NotFound...)))
		if diff := cmp.Diff(names, told); diff != "" {
			t.Errorf("%s: prices and what is said of them differ (-prices +said):\n%s", region, diff)
		}
		if priced := priceNames(t, region); !cmp.Equal(slices.Sorted(maps.Keys(p.Sources)), priced) {
			t.Errorf("%s: sources for %v, prices for %v", region, slices.Sorted(maps.Keys(p.Sources)), priced)
		}
	}
}

// priceNames are the names of the numbers in a region's file.
func priceNames(t *testing.T, region string) (names []string) {
	t.Helper()
	text, err := priceFiles.ReadFile("prices/" + region + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for name, value := range all {
		if price, is := value.(float64); is && price > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestPrices_Unpriced(t *testing.T) {
	t.Parallel()
	p := Prices{NotFound: []string{"kmsSignatures", "dynamoDBWriteUnits", "dynamoDBReadUnits"}}
	for name, test := range map[string]struct {
		used Units
		want []string
	}{
		"all priced":     {Units{SQSRequests: 3}, nil},
		"a table's":      {Units{Writes: 1, SQSRequests: 3}, []string{"dynamoDBWriteUnits"}},
		"an index's":     {Units{IndexWrites: 1}, []string{"dynamoDBWriteUnits"}},
		"several prices": {Units{Reads: 1, KMSSignatures: 1}, []string{"dynamoDBReadUnits", "kmsSignatures"}},
	} {
		if diff := cmp.Diff(test.want, p.Unpriced(test.used)); diff != "" {
			t.Errorf("%s (-want +got): %s", name, diff)
		}
	}
}

func TestUnits_Without(t *testing.T) {
	t.Parallel()
	used := Units{Writes: 1, IndexWrites: 2, Reads: 3, SQSRequests: 4, KMSRequests: 5}
	got := used.Without([]string{"dynamoDBWriteUnits", "kmsRequests", "kmsKeyMonths"})
	if diff := cmp.Diff(Units{Reads: 3, SQSRequests: 4}, got); diff != "" {
		t.Errorf("the rest (-want +got): %s", diff)
	}
}

// Each count is found by the name that it has in JSON.
func TestUnits_Names(t *testing.T) {
	t.Parallel()
	counts := new(Units).each()
	for i := range counts {
		var u Units
		*u.each()[i] = 7
		text, err := json.Marshal(u)
		if err != nil {
			t.Fatal(err)
		}
		var named map[string]float64
		if err := json.Unmarshal(text, &named); err != nil {
			t.Fatal(err)
		}
		for name, value := range named {
			if got := *u.named(name); got != value {
				t.Errorf("%s: %v, want %v", name, got, value)
			}
		}
	}
}

// A price covers the units of waiting and of computing.
func TestUnits_ComputedGBSeconds(t *testing.T) {
	t.Parallel()
	p, err := PriceList(Virginia)
	if err != nil {
		t.Fatal(err)
	}
	used := Units{GBSeconds: 1, ComputedGBSeconds: 2}
	if got, want := used.Dollars(p.Units), 3*p.GBSeconds; got != want {
		t.Errorf("%v dollars, want %v", got, want)
	}
	if got := used.WithoutProcessor(); got != (Units{GBSeconds: 1}) {
		t.Errorf("without processor time: %+v", got)
	}
	if got := used.Without([]string{"lambdaGBSeconds"}); got != (Units{}) {
		t.Errorf("without the price: %+v", got)
	}
	unpriced := Prices{NotFound: []string{"lambdaGBSeconds"}}
	if got := unpriced.Unpriced(Units{ComputedGBSeconds: 1}); len(got) != 1 {
		t.Errorf("unpriced: %v", got)
	}
}
