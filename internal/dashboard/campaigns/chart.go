package campaigns

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
)

// chart shows a campaign's outcomes over time.
type chart struct {
	From, To time.Time
	Points   []point // by time; the first is before any outcome
	Most     int     // the top of the scale
	Lines    []line
}

// point is the number of messages by progress at a time.
type point struct {
	At                          time.Time
	Sent, Delivered, Read, Lost int
}

// line is one line of the chart, as the points of an SVG polyline of width × height.
type line struct {
	Key    string
	Points string
	N      int // value at the end
}

const (
	width  = 600
	height = 180
	// maxPoints is the approximate number of points of a line.
	maxPoints = 48
)

// newChart returns the chart of the batches. neverSent is how many of the expired
// messages were never sent.
func newChart(batches []campaign.Progress, neverSent int, now time.Time) chart {
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
	c.Points = pointsOf(nets, c.From, neverSent)
	last := &c.Points[len(c.Points)-1]
	if !last.At.After(c.From) {
		last.At = c.From.Add(time.Second) // a chart needs a width
	}
	c.To, c.Most = last.At, max(last.Sent, last.Lost, 1)
	c.Most += c.Most % 2 // so that its half is a whole number
	c.Lines = []line{
		{"sent", c.draw(func(p point) int { return p.Sent }), last.Sent},
		{"delivered", c.draw(func(p point) int { return p.Delivered }), last.Delivered},
		{"read", c.draw(func(p point) int { return p.Read }), last.Read},
		{"lost", c.draw(func(p point) int { return p.Lost }), last.Lost},
	}
	return c
}

// netsOf sums the changes of the batches' slots by end time.
func netsOf(batches []campaign.Progress, now time.Time) map[time.Time]map[campaign.Outcome]int {
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
func pointsOf(nets map[time.Time]map[campaign.Outcome]int, from time.Time, neverSent int) []point {
	ends := make([]time.Time, 0, len(nets))
	for end := range nets {
		ends = append(ends, end)
	}
	slices.SortFunc(ends, time.Time.Compare)
	span := max(ends[len(ends)-1].Sub(from)/maxPoints, time.Second)
	points, counts := []point{{At: from}}, map[campaign.Outcome]int{}
	for i, end := range ends {
		for outcome, n := range nets[end] {
			counts[outcome] += n
		}
		if i == len(ends)-1 || ends[i+1].Sub(from)/span != end.Sub(from)/span {
			points = append(points, newPoint(end, counts, neverSent))
		}
	}
	return points
}

// newPoint counts the first expired messages as never sent: a timeline does not
// distinguish them.
func newPoint(at time.Time, n map[campaign.Outcome]int, neverSent int) point {
	p := point{At: at, Read: n[campaign.OutcomeRead]}
	p.Delivered = p.Read + n[campaign.OutcomeDelivered]
	p.Sent = p.Delivered + n[campaign.OutcomeSent] + n[campaign.OutcomeRevoked] + max(0, n[campaign.OutcomeExpired]-neverSent)
	p.Lost = n[campaign.OutcomeFailed] + n[campaign.OutcomeExpired] + n[campaign.OutcomeRevoked] + n[campaign.OutcomeStopped]
	return p
}

// draw returns a line's points, from the lower left corner.
func (c chart) draw(of func(point) int) string {
	all := max(c.To.Sub(c.From), 1)
	var b strings.Builder
	for _, p := range c.Points {
		x := float64(width) * float64(p.At.Sub(c.From)) / float64(all)
		y := height - float64(height)*float64(of(p))/float64(c.Most)
		b.WriteString(strconv.FormatFloat(x, 'f', 1, 64) + "," + strconv.FormatFloat(y, 'f', 1, 64) + " ")
	}
	return strings.TrimSpace(b.String())
}

// Seconds returns the seconds of a time, if the chart begins and ends in the same
// minute, else "".
func (c chart) Seconds(at time.Time) string {
	if !c.From.Truncate(time.Minute).Equal(c.To.Truncate(time.Minute)) {
		return ""
	}
	return at.Format(":05")
}

// Half is the middle of the scale.
func (c chart) Half() int { return c.Most / 2 }

// Middle is the middle of the time.
func (c chart) Middle() time.Time { return c.From.Add(c.To.Sub(c.From) / 2) }

// span is the part of the chart between the middles of a point's neighbours, in which the
// point's values are shown.
type span struct {
	point
	X, Width string
}

// Spans returns the spans of the points.
func (c chart) Spans() []span {
	x := func(at time.Time) float64 { return width * float64(at.Sub(c.From)) / float64(max(c.To.Sub(c.From), 1)) }
	format := func(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }
	spans := make([]span, len(c.Points))
	left := 0.0
	for i, p := range c.Points {
		right := float64(width)
		if i+1 < len(c.Points) {
			right = (x(p.At) + x(c.Points[i+1].At)) / 2
		}
		spans[i] = span{p, format(left), format(right - left)}
		left = right
	}
	return spans
}
