package campaigns

import (
	"maps"
	"slices"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/dashboard/web"
	charts "campaign-dispatch/internal/dashboard/web/chart"
	"campaign-dispatch/internal/insight"
)

type chart struct {
	From, To time.Time
	Points   []point // by time; the first is before any outcome
}

type point struct {
	At time.Time
	campaign.DayCounts
}

// drawn reports whether a line of the chart is above zero: messages that were not sent have no line.
func (p point) drawn() bool { return p.Sent+p.Failed > 0 }

const (
	maxPoints = 48             // of a line, about
	manyDays  = 72 * time.Hour // a chart of more has days without times below it
)

// newChart returns the chart of the batches of a campaign with the results.
func newChart(batches []campaign.BatchProgress, r insight.Results, now time.Time) chart {
	var c chart
	for _, b := range batches {
		start := b.Head.Timeline.Start
		if !start.IsZero() && (c.From.IsZero() || start.Before(c.From)) {
			c.From = start
		}
	}
	if c.From.IsZero() {
		return c
	}
	nets := netsOf(batches, now)
	if c.Points = pointsOf(nets, c.From, r); !slices.ContainsFunc(c.Points, point.drawn) {
		return chart{}
	}
	last := &c.Points[len(c.Points)-1]
	if !last.At.After(c.From) {
		last.At = c.From.Add(time.Second) // a chart needs a width
	}
	c.To = last.At
	return c
}

func netsOf(batches []campaign.BatchProgress, now time.Time) map[time.Time]map[campaign.Outcome]int {
	nets := map[time.Time]map[campaign.Outcome]int{}
	for _, b := range batches {
		for _, slot := range b.Head.Timeline.Slots {
			end := b.Head.Timeline.End(slot.Number)
			if now.Before(end) {
				end = now.UTC()
			}
			if nets[end] == nil {
				nets[end] = map[campaign.Outcome]int{}
			}
			for outcome, n := range slot.Net {
				nets[end][outcome] += n
			}
		}
	}
	return nets
}

// pointsOf accumulates the changes, with one point per interval.
func pointsOf(nets map[time.Time]map[campaign.Outcome]int, from time.Time, r insight.Results) []point {
	ends := slices.SortedFunc(maps.Keys(nets), time.Time.Compare)
	span := max(ends[len(ends)-1].Sub(from)/maxPoints, time.Second)
	points, counts := []point{{At: from}}, map[campaign.Outcome]int{}
	for i, end := range ends {
		for outcome, n := range nets[end] {
			counts[outcome] += n
		}
		if i == len(ends)-1 || ends[i+1].Sub(from)/span != end.Sub(from)/span {
			points = append(points, newPoint(end, counts, r))
		}
	}
	return points
}

// newPoint counts the first expired and failed messages as those that were not sent: a timeline does
// not distinguish them.
func newPoint(at time.Time, n map[campaign.Outcome]int, r insight.Results) point {
	return point{at, campaign.LedgerSummary{Counts: n, Reasons: map[campaign.Reason]int{
		{Outcome: campaign.OutcomeExpired, Code: campaign.CodeNotAfterPassed}: min(r.ExpiredUnsent, n[campaign.OutcomeExpired]),
		{Outcome: campaign.OutcomeFailed, Code: campaign.CodeOptedOut}:        min(r.OptedOut+r.Suppressed, n[campaign.OutcomeFailed]),
	}}.DayCounts()}
}

func (c chart) Shown(p *web.Page) charts.Chart {
	shown := charts.Chart{Title: p.T("campaigns.chart"), Time: p.T("campaigns.until")}
	at := func(t time.Time) string { return p.When(t) + c.seconds(t) }
	shown.Ends = c.ends(p)
	for _, point := range c.Points {
		shown.Points = append(shown.Points, charts.Point{
			X: float64(point.At.Sub(c.From)) / float64(max(c.To.Sub(c.From), 1)), Label: at(point.At), ISO: p.ISO(point.At),
			Counts: []int{point.Sent, point.Delivered, point.Read, point.Failed},
		})
	}
	shown.Says = p.T("campaigns.chart_says", at(c.From), at(c.To))
	last := shown.Points[len(shown.Points)-1]
	for i, key := range []string{"sent", "delivered", "read", "lost"} {
		name := p.T("campaigns.step." + key)
		shown.Series = append(shown.Series, charts.Series{Key: key, Name: name})
		shown.Says += " " + name + ": " + p.Number(last.Counts[i]) + "."
	}
	return shown
}

// ends returns the labels of the start, the middle and the end: only days if there are more than three between them, and
// the day once if it is the same.
func (c chart) ends(p *web.Page) (labels [3]string) {
	for i := range labels {
		at := c.From.Add(c.To.Sub(c.From) * time.Duration(i) / 2)
		day, clock := p.Day(at), p.Hour(at)+c.seconds(at)
		switch {
		case c.To.Sub(c.From) > manyDays:
			labels[i] = day
		case i > 0 && localtime.Day(c.From) == localtime.Day(c.To):
			labels[i] = clock
		default:
			labels[i] = day + ", " + clock
		}
	}
	return labels
}

// seconds returns the seconds of a time if the labels need them to differ, else "".
func (c chart) seconds(at time.Time) string {
	if c.To.Sub(c.From) >= 2*time.Minute {
		return ""
	}
	return at.Format(":05")
}
