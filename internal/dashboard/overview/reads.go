package overview

import (
	"math"
	"time"

	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/recent"
	"campaign-dispatch/internal/insight"
)

// readsPath is the path of the hours in which messages are read.
const readsPath = Path + "/reads"

// readsPage shows how many messages were read in each hour of the week.
type readsPage struct {
	recent.Times

	Days []readDay        // from Monday on; none if few were read
	Most insight.WeekHour // the hour with the most
}

// readDay is a day of the week.
type readDay struct {
	Number int // from 1 for Monday
	Row    int // of the picture, from 0
	Hours  []readHour
}

// readHour is how many messages were read in an hour of a day.
type readHour struct {
	N     int
	Level int // the shade, from 1 for few; 0 for none
}

const levels = 5 // of shades

func (s *Pages) reads(p *web.Page) error {
	times, err := s.Reads.Times(p.R.Context(), p.Session.Tenant)
	if err != nil {
		return err
	}
	v := newReads(times)
	return p.RenderOr("overview_reads_picture.html", "overview.reads", "overview_reads.html", v)
}

func newReads(times recent.Times) readsPage {
	v := readsPage{Times: times}
	if times.Few() {
		return v
	}
	v.Most = times.Ranked()[0]
	for row := range times.ReadTimes {
		d := readDay{Number: row + 1, Row: row}
		for _, n := range times.ReadTimes[d.weekday()] {
			d.Hours = append(d.Hours, readHour{int(math.Round(n)), int(math.Ceil(levels * n / v.Most.N))})
		}
		v.Days = append(v.Days, d)
	}
	return v
}

func (d readDay) weekday() time.Weekday { return time.Weekday(d.Number % 7) }

// Clock returns an hour of the day as 09:00.
func (readsPage) Clock(hour int) string { return window.Clock(60 * hour) }

// Until returns the end of an hour of the day.
func (v readsPage) Until(hour int) string { return v.Clock(hour + 1) }

// Line returns the hours of a day in the table.
func (v readsPage) Line(hour int) (line []int) {
	for _, d := range v.Days {
		line = append(line, d.Hours[hour].N)
	}
	return line
}

// MostRead returns the number of messages of the hour with the most.
func (v readsPage) MostRead() int { return int(math.Round(v.Most.N)) }

// All returns the number of messages.
func (v readsPage) All() int { return int(math.Round(v.Total())) }
