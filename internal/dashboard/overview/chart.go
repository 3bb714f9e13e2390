package overview

import (
	"strconv"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
)

const (
	width  = 600
	height = 180
)

// chart shows the counts of days.
type chart struct {
	Days  []day
	Most  int // the top of the scale
	Lines []line
}

// day is a day with the part of the chart in which its values are shown.
type day struct {
	campaign.Day
	X, Width string
}

// Time returns the day's noon in UTC, which is the same date in São Paulo.
func (d day) Time() time.Time {
	at, _ := time.Parse(time.DateOnly, d.Date) // a date of package localtime
	return at.Add(12 * time.Hour)
}

// line is one line of the chart, as the points of an SVG polyline of width × height.
type line struct {
	Key    string
	Points string
}

func newChart(days []campaign.Day) chart {
	c := chart{Most: 1}
	part := float64(width) / float64(len(days))
	for i, d := range days {
		c.Days = append(c.Days, day{d, format(part * float64(i)), format(part)})
		c.Most = max(c.Most, d.Sent, d.Failed)
	}
	c.Most += c.Most % 2 // so that its half is a whole number
	c.Lines = []line{
		{"sent", c.draw(func(d day) int { return d.Sent })},
		{"delivered", c.draw(func(d day) int { return d.Delivered })},
		{"read", c.draw(func(d day) int { return d.Read })},
		{"lost", c.draw(func(d day) int { return d.Failed })},
	}
	return c
}

// draw returns a line's points, each in the middle of its day.
func (c chart) draw(of func(day) int) string {
	var b strings.Builder
	for i, d := range c.Days {
		x := float64(width) * (float64(i) + 0.5) / float64(len(c.Days))
		y := height - float64(height)*float64(max(of(d), 0))/float64(c.Most)
		b.WriteString(format(x) + "," + format(y) + " ")
	}
	return strings.TrimSpace(b.String())
}

func format(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }

// Half is the middle of the scale.
func (c chart) Half() int { return c.Most / 2 }

// Empty reports whether no day has counts.
func (c chart) Empty() bool {
	for _, d := range c.Days {
		if d.DayCounts != (campaign.DayCounts{}) {
			return false
		}
	}
	return true
}

// Last is the last day.
func (c chart) Last() day { return c.Days[len(c.Days)-1] }

// Middle is the day in the middle.
func (c chart) Middle() day { return c.Days[len(c.Days)/2] }
