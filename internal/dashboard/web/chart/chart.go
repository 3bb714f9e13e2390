// Package chart shows counts over time as stepped lines or bars, with the values of each point on hover and by
// the arrow keys, or as a table. Its page is chart.html in package web.
package chart

import (
	"html/template"
	"slices"
	"strconv"
	"strings"

	"campaign-dispatch/internal/dashboard/web"
)

const (
	width  = 600
	height = 180
	// maxSteps is the maximum number of steps of the scale.
	maxSteps = 5
	// barShare is the part of a point's width that its bar takes, of maxBar per cent of the chart at most.
	barShare, maxBar = 0.62, 5.0
	// fewPoints is the number of points up to which every bar has a label. Of more, every fifth has one.
	fewPoints, labelEvery = 10, 5
)

// Chart is counts over time. Its texts are in the person's language.
type Chart struct {
	Title  string
	Says   string // what the chart shows, for readers of the screen
	Time   string // heading of the points' labels
	Series []Series
	Points []Point // by X
	Bars   bool    // each point is a bar; the points have the same distance
	// Ends are the labels of the start, the middle and the end of lines.
	Ends [3]string
}

// Series is one count of each point. Key is its color. The bars of a point are drawn over each other: a
// later series is a part of the one before, if its bar does not stand on another one.
type Series struct {
	Key, Name string
	TableOnly bool   // it is not drawn
	On        string // key of the series on whose bar its bar stands, "" for none
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

	Ticks []int    // of the scale, the highest first
	Rules []string // heights of the ticks
	Drawn []Series
	Lines []Line
	Rects []Rect
}

// Line is a drawn series, with the steps of an SVG path.
type Line struct {
	Series
	Steps string
}

// Rect is a part of a bar, in per cent of the chart.
type Rect struct{ Key, X, Y, Width, Height string }

// SVG returns the bar's element. html/template would escape each attribute of each bar, which takes longer than all else.
func (r Rect) SVG() template.HTML {
	return template.HTML(`<rect x="` + r.X + `" y="` + r.Y + `" width="` + r.Width + `" height="` + r.Height + //nolint:gosec // numbers
		`" rx="2" class="c-` + template.HTMLEscapeString(r.Key) + `"/>`)
}

// On returns the chart on a page.
func (c Chart) On(p *web.Page) View {
	v := View{Page: p, Chart: c, Ticks: ticks(c.most())}
	for i := range v.Ticks {
		v.Rules = append(v.Rules, percent(float64(i)/float64(len(v.Ticks)-1)))
	}
	for i, s := range c.Series {
		if s.TableOnly {
			continue
		}
		v.Drawn = append(v.Drawn, s)
		if !c.Bars {
			v.Lines = append(v.Lines, Line{s, v.draw(i)})
		}
	}
	if c.Bars {
		v.drawBars()
	}
	return v
}

// most returns the highest count that is drawn.
func (c Chart) most() (most int) {
	for _, point := range c.Points {
		for i, n := range point.Counts {
			if !c.Series[i].TableOnly {
				most = max(most, n+c.below(point, i))
			}
		}
	}
	return most
}

// below returns the count on whose bar the bar of a series stands, 0 for none.
func (c Chart) below(p Point, series int) int {
	for i, s := range c.Series {
		if s.Key == c.Series[series].On {
			return p.Counts[i]
		}
	}
	return 0
}

// ticks returns the numbers of a scale from 0 to most or above, in steps of 1, 2 or 5 times a power of
// ten, the highest first.
func ticks(most int) []int {
	step := stepOf(most)
	steps := max((most+step-1)/step, 1)
	all := make([]int, steps+1)
	for i := range all {
		all[i] = step * (steps - i)
	}
	return all
}

func stepOf(most int) int {
	for unit := 1; ; unit *= 10 {
		for _, times := range []int{1, 2, 5} {
			if times*unit*maxSteps >= most {
				return times * unit
			}
		}
	}
}

// share returns a count as a part of the scale.
func (v View) share(n int) float64 { return float64(max(n, 0)) / float64(v.Ticks[0]) }

// draw returns the steps of a series: a count stays until the next point, because nothing is known between them.
func (v View) draw(series int) string {
	var b strings.Builder
	for i, p := range v.Points {
		x, y := Decimal(width*p.X), Decimal(height*(1-v.share(p.Counts[series])))
		if i == 0 {
			b.WriteString("M" + x + "," + y)
		} else {
			b.WriteString("H" + x + "V" + y)
		}
	}
	return b.String()
}

// drawBars adds the bars of the points.
func (v *View) drawBars() {
	slot := 1 / float64(max(len(v.Points), 1))
	wide := min(slot*barShare, maxBar/100)
	for _, p := range v.Points {
		for i, s := range v.Series {
			if s.TableOnly || p.Counts[i] <= 0 {
				continue
			}
			top, tall := 1-v.share(p.Counts[i]+v.below(p, i)), v.share(p.Counts[i])
			v.Rects = append(v.Rects, Rect{s.Key, percent(p.X - wide/2), percent(top), percent(wide), percent(tall)})
		}
	}
}

// Decimal returns a number with one decimal, as attributes of SVG have it.
func Decimal(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }

func percent(f float64) string { return strconv.FormatFloat(100*f, 'f', 2, 64) + "%" }

// Few reports whether every bar has a label.
func (c Chart) Few() bool { return len(c.Points) <= fewPoints }

// Labels returns the labels below the bars, "" for none. The last bar has one.
func (c Chart) Labels() []string {
	labels := make([]string, len(c.Points))
	for i, p := range c.Points {
		if c.Few() || (len(c.Points)-1-i)%labelEvery == 0 {
			labels[i] = p.Label
		}
	}
	return labels
}

// Listed returns the point's counts with the names of their series, each after a line break.
func (v View) Listed(p Point) string {
	var b strings.Builder
	for i, n := range p.Counts {
		b.WriteString("\n" + v.Series[i].Name + ": " + v.Number(n))
	}
	return b.String()
}

// Span is the part of the chart between the middles of a point's neighbors, in which the
// point's counts are shown, in per cent.
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
		right := 1.0
		if i+1 < len(points) {
			right = (p.X + points[i+1].X) / 2
		}
		spans[i] = Span{p, percent(left), percent(right - left)}
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
