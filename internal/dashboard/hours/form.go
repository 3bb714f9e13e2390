package hours

import (
	"strconv"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/reach"
)

// view is the page.
type view struct {
	form

	Was      string // the stored revision
	Fault    string // the key of a text
	Unsent   unsent // what the person has to confirm
	Entered  string // the hours of Unsent, see digestOf
	Proposed bool   // nothing was saved yet
	Zones    []window.Zone
}

// form is what a person enters.
type form struct {
	Rules    []rule
	Zone     string
	Holidays string // a date in each line, as Brazilians write it, and its name if it has one
	BadDate  string // the first line that is not a date
}

// rule is the form of a traffic type.
type rule struct {
	Traffic       campaign.Traffic
	On            bool
	Days          []day
	OffHolidays   bool
	ExpireAtClose bool
	Fault         bool // it has no hours
}

// day is the hours of a weekday. Empty texts are a closed day.
type day struct {
	Number      int // from 1 for Monday
	From, Until string
	Fault       bool
}

// Bar returns the start and the width of the hours, in pixels of a day of 288, for the picture of the week.
func (d day) Bar() struct{ X, Width int } {
	h, ok := d.hours()
	if !ok || h.Closed() {
		return struct{ X, Width int }{}
	}
	const scale = window.Day / 288
	return struct{ X, Width int }{h.From / scale, (h.Until - h.From) / scale}
}

func (d day) hours() (h window.Hours, ok bool) {
	if d.From == "" && d.Until == "" {
		return h, true
	}
	from, fromOK := window.ParseClock(d.From)
	until, untilOK := window.ParseClock(d.Until)
	h = window.Hours{From: from, Until: until}
	return h, fromOK && untilOK && !h.Closed()
}

func formOf(p reach.TenantHours) form {
	f := form{Zone: p.TenantZone().String(), Holidays: brazilian(p)}
	for _, t := range ruled {
		stored, on := p.Rule(t)
		if !on {
			stored = reach.Usual()
		}
		r := rule{Traffic: t, On: on, OffHolidays: stored.OffHolidays, ExpireAtClose: stored.ExpireAtClose}
		for i, weekday := range week {
			d := day{Number: i + 1}
			if h := stored.Week[weekday]; !h.Closed() {
				d.From, d.Until = window.Clock(h.From), window.Clock(h.Until)
			}
			r.Days = append(r.Days, d)
		}
		f.Rules = append(f.Rules, r)
	}
	return f
}

func readForm(p *web.Page) form {
	f := form{Zone: p.Field("zone"), Holidays: p.Field("holidays")}
	for _, t := range ruled {
		name := string(t) + "-"
		r := rule{
			Traffic: t, On: p.Field(name+"on") != "",
			OffHolidays: p.Field(name+"holidays") != "", ExpireAtClose: p.Field(name+"expire") != "",
		}
		for i := range week {
			n := strconv.Itoa(i + 1)
			r.Days = append(r.Days, day{Number: i + 1, From: p.Field(name + "from-" + n), Until: p.Field(name + "until-" + n)})
		}
		f.Rules = append(f.Rules, r)
	}
	return f
}

// policy returns what the form says. fault is the code of its first error, whose field is marked then, or "".
func (f *form) policy() (p reach.TenantHours, fault string) {
	p.Rules = map[campaign.Traffic]reach.Rule{}
	for i := range f.Rules {
		r := &f.Rules[i]
		if !r.On {
			continue
		}
		stored := reach.Rule{OffHolidays: r.OffHolidays, ExpireAtClose: r.ExpireAtClose}
		for j := range r.Days {
			h, ok := r.Days[j].hours()
			if !ok {
				r.Days[j].Fault = true
				return p, "day"
			}
			stored.Week[week[j]] = h
		}
		if stored.Week.Closed() {
			r.Fault = true
			return p, "closed"
		}
		p.Rules[r.Traffic] = stored
	}
	if p.Zone = window.Named(f.Zone); !p.Zone.Known() {
		return p, "zone"
	}
	if p.Holidays, p.HolidayNames, f.BadDate = dates(f.Holidays); f.BadDate != "" {
		return p, "holiday"
	}
	if len(p.Holidays) > reach.MaxHolidays {
		return p, "holidays"
	}
	return p, ""
}

// The forms of holidays: as Brazilians write them, and as they are stored.
var dateForms = [...]struct{ written, stored string }{{"02/01/2006", time.DateOnly}, {"02/01", "01-02"}}

const maxName = 100 // bytes of a holiday's name

// dates reads the lines of a text. Each has a date, and can have the holiday's name. bad is the first line without a date.
func dates(text string) (all []string, names map[string]string, bad string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		written, name, _ := strings.Cut(line, " ")
		date, ok := rewrite(written, false)
		if !ok {
			return nil, nil, line
		}
		all = append(all, date)
		if name = web.Short(strings.TrimSpace(name), maxName); name != "" {
			if names == nil {
				names = map[string]string{}
			}
			names[date] = name
		}
	}
	return all, names, ""
}

func brazilian(p reach.TenantHours) string {
	lines := make([]string, len(p.Holidays))
	for i, date := range p.Holidays {
		written, _ := rewrite(date, true)
		lines[i] = strings.TrimSpace(written + " " + p.HolidayNames[date])
	}
	return strings.Join(lines, "\n")
}

// rewrite changes a date from one form to the other.
func rewrite(date string, back bool) (string, bool) {
	for _, form := range dateForms {
		from, to := form.written, form.stored
		if back {
			from, to = to, from
		}
		if at, err := time.Parse(from, date); err == nil {
			return at.Format(to), true
		}
	}
	return date, false
}

func revisionText(p reach.TenantHours) string { return "revision " + strconv.Itoa(p.Revision) }
