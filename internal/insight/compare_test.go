package insight_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/insight"
)

func TestMedian(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		values []int
		want   int
	}{
		"none": {nil, 0},
		"one":  {[]int{7}, 7},
		"odd":  {[]int{9, 1, 5}, 5},
		"even": {[]int{4, 10, 1, 6}, 5},
		"ties": {[]int{3, 8, 3, 3}, 3},
	} {
		given := slices.Clone(test.values)
		if got := insight.Median(test.values); got != test.want || !slices.Equal(given, test.values) {
			t.Errorf("%s: %d, want %d; the values are %v", name, got, test.want, test.values)
		}
	}
}

// A metric is compared with the campaigns that have it, and a campaign without the base of a rate has none.
func TestCompare(t *testing.T) {
	t.Parallel()
	priced := insight.Results{Sent: 100, Delivered: 80, Read: 40, Clicked: 8, Clickable: true, Cost: 4_000_000}
	others := []insight.Results{
		{Sent: 100, Delivered: 90, Read: 45, Clicked: 9, Clickable: true, Cost: 4_500_000},
		{Sent: 100, Delivered: 70, Read: 14, Cost: 7_000_000, Unpriced: 1},
		{Sent: 100},
		{},
	}
	want := []insight.Comparison{
		{Metric: "delivered", Value: 800_000, Usual: 700_000, Of: 3},
		{Metric: "read", Value: 500_000, Usual: 350_000, Of: 2},
		{Metric: "clicked", Value: 100_000, Usual: 100_000, Of: 1},
		{Metric: "cost", Value: 100_000, Usual: 100_000, Of: 1},
	}
	got := insight.Compare(priced, others)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("comparisons (-want +got):\n%s", diff)
	}
	if !got[0].Known() || got[1].Known() {
		t.Errorf("what is usual is known: %t for 3 campaigns, %t for 2", got[0].Known(), got[1].Known())
	}
	if none := insight.Compare(insight.Results{}, others); none != nil {
		t.Errorf("a campaign that sent nothing is compared: %v", none)
	}
}

// Opt-outs are compared until the results are settled, and not if later messages were added.
func TestCountOptOuts(t *testing.T) {
	t.Parallel()
	sent := time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)
	var since []campaign.OptChange
	for _, hours := range []int{1, 24, 25, 150} {
		since = append(since, campaign.OptChange{At: sent.Add(time.Duration(hours) * time.Hour)})
	}
	for name, test := range map[string]struct {
		counted, read, extended time.Duration // after it was sent
		want                    int           // millionths, -1 if unknown
	}{
		"young":             {2 * time.Hour, 2 * time.Hour, 0, 1000},
		"settled":           {24 * time.Hour, 48 * time.Hour, 0, 2000},
		"old":               {7 * 24 * time.Hour, 7 * 24 * time.Hour, 0, 2000},
		"counted too early": {2 * time.Hour, 3 * time.Hour, 0, -1},
		"extended":          {48 * time.Hour, 72 * time.Hour, time.Hour, -1},
	} {
		r := insight.Results{At: sent.Add(test.counted), First: sent, Last: sent, Delivered: 1000}
		r.CountOptOuts(since)
		r.At, r.Last = sent.Add(test.read), sent.Add(test.extended)
		value, known := r.Metric(insight.MetricOptOuts)
		if known != (test.want >= 0) || known && value != test.want {
			t.Errorf("%s: %d, known: %t", name, value, known)
		}
	}
	if _, known := (insight.Results{Delivered: 1000}).Metric(insight.MetricOptOuts); known {
		t.Error("opt-outs that were not counted are known")
	}
}

func TestResults_Comparable(t *testing.T) {
	t.Parallel()
	sent := time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		sent  int
		after time.Duration
		want  bool
	}{
		"settled": {20, 24 * time.Hour, true}, "few": {19, 48 * time.Hour, false}, "young": {1000, 24*time.Hour - 1, false},
	} {
		if got := (insight.Results{Sent: test.sent, Last: sent, At: sent.Add(test.after)}).Comparable(); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestCostPer(t *testing.T) {
	t.Parallel()
	r := insight.Results{Delivered: 30, Read: 3, Clicked: 1, Cost: 1_000_000}
	if read, click, tap := r.CostPer(insight.StepRead), r.CostPer(insight.StepClicked), r.CostPer(insight.StepTapped); read != 333_000 || click != 1_000_000 || tap != 0 {
		t.Errorf("a read costs %s, a click %s, a tap %s", read, click, tap)
	}
	if r.Unpriced = 1; r.CostPer(insight.StepRead) != 0 {
		t.Error("the cost of a read is known without some prices")
	}
}
