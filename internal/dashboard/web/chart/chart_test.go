package chart_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"campaign-dispatch/internal/dashboard/web/chart"
)

// The lines are steps within the chart: a count stays until the next point. Each part of the chart shows the counts of one point.
func TestOn_Lines(t *testing.T) {
	t.Parallel()
	c := chart.Chart{
		Series: []chart.Series{{Key: "sent"}, {Key: "opted_out", TableOnly: true}},
		Points: []chart.Point{{X: 0, Counts: []int{0, 900}}, {X: 0.5, Counts: []int{3, 0}}, {X: 1, Counts: []int{-1, 0}}},
	}
	v := c.On(nil)
	if len(v.Lines) != 1 || v.Lines[0].Steps != "M0.0,180.0H300.0V0.0H600.0V180.0" || len(v.Rects) > 0 {
		t.Errorf("the lines are %v, the bars %v", v.Lines, v.Rects)
	}
	var spans []string
	for _, s := range v.Spans() {
		spans = append(spans, s.Left+"+"+s.Width)
	}
	if got := strings.Join(spans, " "); got != "0.00%+25.00% 25.00%+50.00% 75.00%+25.00%" {
		t.Errorf("the points have the parts %s", got)
	}
}

// The numbers beside a chart are round, and the highest count is below the highest of them.
func TestOn_RoundNumbers(t *testing.T) {
	t.Parallel()
	for most, want := range map[int][]int{
		0: {1, 0}, 1: {1, 0}, 3: {3, 2, 1, 0}, 6: {6, 4, 2, 0}, 11: {15, 10, 5, 0}, 41_230: {50_000, 40_000, 30_000, 20_000, 10_000, 0},
		2_000_000: {2_000_000, 1_500_000, 1_000_000, 500_000, 0},
	} {
		v := chart.Chart{Series: []chart.Series{{Key: "sent"}}, Points: []chart.Point{{Counts: []int{most}}}}.On(nil)
		if !slices.Equal(v.Ticks, want) || len(v.Rules) != len(want) {
			t.Errorf("the scale of %d is %d, want %d", most, v.Ticks, want)
		}
	}
}

// Each point is a bar. What was delivered is drawn over what was sent, and what was lost stands on it, because failed
// messages are not among those sent.
func TestOn_Bars(t *testing.T) {
	t.Parallel()
	c := chart.Chart{
		Bars:   true,
		Series: []chart.Series{{Key: "sent"}, {Key: "delivered"}, {Key: "lost", On: "delivered"}},
		Points: []chart.Point{{X: 0.25, Counts: []int{4, 3, 2}}, {X: 0.75, Counts: []int{0, 0, 0}}},
	}
	want := []chart.Rect{
		{"sent", "22.50%", "20.00%", "5.00%", "80.00%"},
		{"delivered", "22.50%", "40.00%", "5.00%", "60.00%"},
		{"lost", "22.50%", "0.00%", "5.00%", "40.00%"},
	}
	v := c.On(nil)
	if !slices.Equal(v.Rects, want) || len(v.Lines) > 0 {
		t.Fatalf("the bars are %v, want %v", v.Rects, want)
	}
	if got := v.Rects[0].SVG(); got != `<rect x="22.50%" y="20.00%" width="5.00%" height="80.00%" rx="2" class="c-sent"/>` {
		t.Errorf("the first bar is %s", got)
	}
}

// Of many bars, every fifth has a label, and so does the last one.
func TestLabels(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{2: "0 1", 12: "1 6 11"} {
		var c chart.Chart
		for i := range n {
			c.Points = append(c.Points, chart.Point{Label: strconv.Itoa(i)})
		}
		if got := strings.Join(strings.Fields(strings.Join(c.Labels(), " ")), " "); got != want || len(c.Labels()) != n {
			t.Errorf("of %d bars, the labels are %q, want %q", n, got, want)
		}
	}
}

func TestEmpty(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]bool{0: true, 1: false} {
		if got := (chart.Chart{Points: []chart.Point{{Counts: []int{0, n}}}}).Empty(); got != want {
			t.Errorf("a chart of 0 and %d is empty: %t", n, got)
		}
	}
}
