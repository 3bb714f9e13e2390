package dispatch

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/httpapi/jsonscan"
	"campaign-dispatch/internal/reach"
)

const (
	codeInvalidSendWindow = "invalid_send_window"
	codeOutsideWindow     = "outside_send_window"
)

// sendWindow is the window that a call asks for. It can only narrow the tenant's.
type sendWindow struct {
	week *window.Week   // nil if absent or invalid
	days []time.Weekday // nil for every day
}

// windowFields are the members of a sendWindow, as sent.
type windowFields struct {
	days        []string
	hasDays     bool
	from, until text
}

func (r *reader) sendWindow() error {
	if kind := r.scan.Peek(); kind == jsonscan.Null {
		_, err := r.scan.Raw()
		return err
	} else if kind != jsonscan.Object {
		return r.wrongType(whole, "sendWindow", mustBeObject)
	}
	faults := len(r.faults)
	var fields windowFields
	err := r.scan.Members(func(name []byte) (err error) {
		switch string(name) {
		case "days":
			fields.hasDays = true
			fields.days, err = r.texts("sendWindow/days")
		case "from":
			fields.from, err = r.text("sendWindow/from")
		case "until":
			fields.until, err = r.text("sendWindow/until")
		default:
			r.unknown.addField([]byte("sendWindow"), name)
			_, err = r.scan.Raw()
		}
		return err
	})
	if err == nil && len(r.faults) == faults {
		r.req.sendWindow = r.faults.parseWindow(fields)
	}
	return err
}

// texts reads an array of strings.
func (r *reader) texts(field string) (all []string, err error) {
	if r.scan.Peek() != jsonscan.Array {
		return nil, r.wrongType(whole, field, "must be an array of strings")
	}
	err = r.scan.Elements(func() error {
		t, err := r.text(field)
		all = append(all, t.value)
		return err
	})
	return all, err
}

// parseWindow returns the window of a call.
func (f *faults) parseWindow(fields windowFields) (w sendWindow) {
	if !fields.hasDays && !fields.from.present() && !fields.until.present() {
		f.add("sendWindow", codeInvalidSendWindow, "sendWindow needs days, from or until")
		return w
	}
	found := len(*f)
	hours := window.Hours{
		From: f.parseClock("sendWindow/from", fields.from, 0), Until: f.parseClock("sendWindow/until", fields.until, window.Day),
	}
	if fields.hasDays {
		w.days = f.parseDays(fields.days)
	}
	if len(*f) == found && hours.Closed() {
		f.add("sendWindow/until", codeInvalidSendWindow, "until must be later than from")
	}
	if len(*f) > found {
		return sendWindow{}
	}
	w.week = &window.Week{}
	for day := range w.week {
		if w.days == nil || slices.Contains(w.days, time.Weekday(day)) {
			w.week[day] = hours
		}
	}
	return w
}

// parseClock returns the minute of the day of a time such as 09:00, and missing if it is absent.
func (f *faults) parseClock(field string, t text, missing int) int {
	if !t.present() {
		return missing
	}
	minute, ok := window.ParseClock(t.value)
	if !ok {
		f.add(field, codeInvalidSendWindow, "must be a time such as 09:00, from 00:00 to 24:00")
	}
	return minute
}

func (f *faults) parseDays(names []string) []time.Weekday {
	days := make([]time.Weekday, 0, len(names))
	for _, name := range names {
		day := slices.IndexFunc(dayNames[:], func(known string) bool { return known == name })
		if day < 0 {
			f.add("sendWindow/days", codeInvalidSendWindow, "each day must be one of "+strings.Join(dayNames[:], ", "))
			return nil
		}
		days = append(days, time.Weekday(day))
	}
	if len(days) == 0 {
		f.add("sendWindow/days", codeInvalidSendWindow, "must have at least one day")
	}
	return days
}

// dayNames are the days of the API, by time.Weekday.
var dayNames = [...]string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}

// checkSendWindow adds the fault of a window that has nothing in common with the tenant's: on a day that the call
// names, or on all days.
func (f *faults) checkSendWindow(asked sendWindow, p reach.TenantHours, t campaign.Traffic) {
	rule, ruled := p.Rule(t)
	if asked.week == nil || !ruled {
		return
	}
	common := rule.Week.Within(*asked.week)
	if common.Closed() {
		f.add("sendWindow", codeOutsideWindow, "has no hour in common with the tenant's sending hours")
		return
	}
	for _, day := range asked.days {
		if common[day].Closed() {
			f.add("sendWindow/days", codeOutsideWindow, "has no hour in common with the tenant's sending hours on "+dayNames[day])
		}
	}
}

// hours returns when the messages of the call may go. They may always go if the template cannot be used.
func (c *call) hours(state acceptance.State) reach.Hours {
	t := state.Template
	if t == nil || t.Tenant != c.tenant || c.asked.Test || state.Meta != nil && state.Meta.Test {
		return reach.Hours{}
	}
	return state.Hours.HoursFor(t.Traffic, c.req.sendWindow.week)
}

// sortByZone sorts the messages of a call by time zone if a send window applies, so that most frames have one zone.
// The window can be another one at each attempt.
func (c *call) sortByZone(state acceptance.State) {
	c.req.sorted, c.zones = nil, nil
	hours := c.hours(state)
	if !hours.Limited() {
		return
	}
	order, zone := slices.Collect(c.req.accepted), c.req.zoneOf(hours)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(zone(a), zone(b)) })
	c.req.sorted, c.zones = order, c.req.zones(hours)
}

// zoneOf returns a function that returns the zone of an accepted message.
func (q *request) zoneOf(h reach.Hours) func(i int) window.Zone {
	zones := make([]window.Zone, len(q.messages))
	for i := range q.accepted {
		zones[i] = h.Zone(q.messages[i].number)
	}
	return func(i int) window.Zone { return zones[i] }
}

// zones counts the accepted messages by zone, nil if no send window applies.
func (q *request) zones(h reach.Hours) []window.Count {
	if !h.Limited() {
		return nil
	}
	messages := map[window.Zone]int{}
	for i := range q.accepted {
		messages[h.Zone(q.messages[i].number)]++
	}
	return window.Counts(messages)
}

// opening is when the messages to a zone can go.
type opening struct {
	Zone     string    `json:"zone"`
	Messages int       `json:"messages"`
	OpensAt  time.Time `json:"opensAt,omitzero"` // zero for never
}

// openings returns when the messages of a call go, and how many cannot go before notAfter. Both are nil if no send
// window applies.
func (c *call) openings(state acceptance.State) (all []opening, cannotGo *int) {
	hours := c.hours(state)
	zones := c.req.zones(hours)
	if zones == nil {
		return nil, nil
	}
	planned, late := hours.Plan(zones, c.times.due, c.times.notAfter)
	for _, p := range planned {
		all = append(all, opening{p.Zone.String(), p.Messages, p.OpensAt})
	}
	return all, &late
}
