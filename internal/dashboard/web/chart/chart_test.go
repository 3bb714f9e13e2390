package chart_test

import (
	"strings"
	"testing"

	"campaign-dispatch/internal/dashboard/web/chart"
)

// All points are drawn within the chart, and each part of it shows the counts of one point.
func TestOn(t *testing.T) {
	t.Parallel()
	c := chart.Chart{
		Series: []chart.Series{{Key: "sent"}, {Key: "opted_out", TableOnly: true}},
		Points: []chart.Point{{X: 0, Counts: []int{0, 900}}, {X: 0.5, Counts: []int{3, 0}}, {X: 1, Counts: []int{-1, 0}}},
	}
	v := c.On(nil)
	if v.Most != 4 || v.Half() != 2 {
		t.Errorf("the scale is %d, %d, want 4, 2", v.Most, v.Half())
	}
	if len(v.Lines) != 1 || v.Lines[0].Points != "0.0,180.0 300.0,45.0 600.0,180.0" {
		t.Errorf("the lines are %v", v.Lines)
	}
	var spans []string
	for _, s := range v.Spans() {
		spans = append(spans, s.Left+"+"+s.Width)
	}
	if got := strings.Join(spans, " "); got != "0.0+150.0 150.0+300.0 450.0+150.0" {
		t.Errorf("the points have the parts %s", got)
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
