// Package chart shows counts over time as lines, with the values of each point on hover, or as
// a table. Its page is chart.html in package web.
package chart

import (
	"slices"
	"strconv"
	"strings"

	"campaign-dispatch/internal/dashboard/web"
)

const (
	width  = 600
	height = 180
)

// Chart is counts over time. Its texts are in the person's language.
type Chart struct {
	Title  string
	Says   string // what the chart shows, for readers of the screen
	Time   string // heading of the points' labels
	Series []Series
	Points []Point // by X
	// Ends are the labels of the start, the middle and the end.
	Ends [3]string
}

// Series is one count of each point. Key is the color of its line.
type Series struct {
	Key, Name string
	TableOnly bool // it has no line
}

// Point is the counts at a time. The order of Counts is that of the series.
type Point struct {
	X      float64 // from 0 to 1
	Label  string
	ISO    string // the time for programs
	Counts []int
}

// View is a chart on a page.
type View struct {
	*web.Page
	Chart

	Most  int // the top of the scale
	Lines []Line
}

// Line is a drawn series, with the points of an SVG polyline.
type Line struct {
	Series
	Points string
}

// On returns the chart on a page.
func (c Chart) On(p *web.Page) View {
	v := View{Page: p, Chart: c, Most: 1}
	for _, point := range c.Points {
		for i, n := range point.Counts {
			if !c.Series[i].TableOnly {
				v.Most = max(v.Most, n)
			}
		}
	}
	v.Most += v.Most % 2 // so that its half is a whole number
	for i, s := range c.Series {
		if !s.TableOnly {
			v.Lines = append(v.Lines, Line{s, v.draw(i)})
		}
	}
	return v
}

// draw returns the line of a series, from the lower left corner.
func (v View) draw(series int) string {
	var b strings.Builder
	for _, p := range v.Points {
		y := height - float64(height)*float64(max(p.Counts[series], 0))/float64(v.Most)
		b.WriteString(format(width*p.X) + "," + format(y) + " ")
	}
	return strings.TrimSpace(b.String())
}

func format(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }

// Half is the middle of the scale.
func (v View) Half() int { return v.Most / 2 }

// Named is a count with the name of its series.
type Named struct {
	Name string
	N    int
}

// Named returns the point's counts with their names.
func (v View) Named(p Point) []Named {
	named := make([]Named, len(p.Counts))
	for i, n := range p.Counts {
		named[i] = Named{v.Series[i].Name, n}
	}
	return named
}

// Span is the part of the chart between the middles of a point's neighbors, in which the
// point's counts are shown.
type Span struct {
	Point
	Left, Width string
}

// Spans returns the spans of the points.
func (v View) Spans() []Span {
	points := v.Points
	spans := make([]Span, len(points))
	left := 0.0
	for i, p := range points {
		right := float64(width)
		if i+1 < len(points) {
			right = width * (p.X + points[i+1].X) / 2
		}
		spans[i] = Span{p, format(left), format(right - left)}
		left = right
	}
	return spans
}

// Empty reports whether all counts are zero.
func (c Chart) Empty() bool {
	return !slices.ContainsFunc(c.Points, func(p Point) bool {
		return slices.ContainsFunc(p.Counts, func(n int) bool { return n != 0 })
	})
}
