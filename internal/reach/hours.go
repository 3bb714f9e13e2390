// Package reach decides whether a person may be reached, and when: a message goes, waits, or ends without being sent.
package reach

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/reach/area"
)

// TenantHours are the hours that a tenant sets, by traffic type. The zero TenantHours are none: every message may go at any time.
type TenantHours struct {
	// Zone is that of foreign and unknown numbers, São Paulo if it is not set.
	Zone  window.Zone               `json:"zone,omitempty"`
	Rules map[campaign.Traffic]Rule `json:"rules,omitempty"`
	// Holidays are local holidays, see window.Window.
	Holidays []string `json:"holidays,omitempty"`
	// HolidayNames are those of Holidays, by date. Not all have one.
	HolidayNames map[string]string `json:"holidayNames,omitempty"`

	Revision int `json:"-"` // counts the changes of the stored hours, from 1
}

// Rule is the send window of a traffic type.
type Rule struct {
	Week        window.Week `json:"week"`
	OffHolidays bool        `json:"offHolidays,omitempty"`
	// ExpireAtClose makes the provider give up a message when the window closes.
	ExpireAtClose bool `json:"expireAtClose,omitempty"`
}

// Changed returns the subject under which a change of a tenant's hours is recorded for the batches that wait.
func Changed(tenant string) string { return changed + tenant }

// ChangedTenant returns the tenant of a subject of Changed. ok is false for other subjects.
func ChangedTenant(subject string) (tenant string, ok bool) {
	return strings.CutPrefix(subject, changed)
}

const changed = "policy#"

// MaxHolidays is the maximum number of local holidays of a tenant.
const MaxHolidays = 100

// Usual is the rule that the dashboard proposes for promotions.
func Usual() Rule {
	r := Rule{OffHolidays: true}
	for day := time.Monday; day <= time.Friday; day++ {
		r.Week[day] = window.Hours{From: 9 * 60, Until: 21 * 60}
	}
	r.Week[time.Saturday] = window.Hours{From: 10 * 60, Until: 16 * 60}
	return r
}

// String returns the open days of a rule with their hours, as "monday 09:00-21:00, saturday 10:00-16:00".
func (r Rule) String() string {
	var days []string
	for day, h := range r.Week {
		if !h.Closed() {
			days = append(days, strings.ToLower(time.Weekday(day).String())+" "+window.Clock(h.From)+"-"+window.Clock(h.Until))
		}
	}
	return strings.Join(days, ", ")
}

// Exempt reports whether the traffic type never has a rule: authentication codes are needed at once.
func Exempt(t campaign.Traffic) bool { return t == campaign.Authentication }

// Rule returns the rule of a traffic type, and false if there is none.
func (p TenantHours) Rule(t campaign.Traffic) (Rule, bool) {
	r, ok := p.Rules[cmp.Or(t, campaign.Promotion)]
	return r, ok && !Exempt(t)
}

// TenantZone returns the zone of foreign and unknown numbers.
func (p TenantHours) TenantZone() window.Zone {
	if !p.Zone.Known() {
		return window.SaoPaulo
	}
	return p.Zone
}

// Hours are the times at which the messages of a batch may go. The zero Hours are always open.
type Hours struct {
	window  *window.Window // nil for always
	zone    window.Zone    // of foreign and unknown numbers
	expires bool           // see Rule.ExpireAtClose
}

// HoursFor returns the hours of messages with a traffic type. asked is the window of their call, which narrows the
// tenant's; nil for none.
func (p TenantHours) HoursFor(t campaign.Traffic, asked *window.Week) Hours {
	rule, ruled := p.Rule(t)
	switch {
	case !ruled && asked == nil:
		return Hours{}
	case !ruled:
		rule.Week = *asked
	case asked != nil:
		rule.Week = rule.Week.Within(*asked)
	}
	w := window.Window{Week: rule.Week, OffHolidays: rule.OffHolidays, Holidays: p.Holidays, Names: p.HolidayNames}
	return Hours{window: &w, zone: p.TenantZone(), expires: rule.ExpireAtClose}
}

// HoursOfBatch returns the hours of a batch's messages. Test messages go at any time: their recipients are the tenant's
// own people.
func (p TenantHours) HoursOfBatch(b campaign.Batch, t campaign.Traffic) Hours {
	if b.Test {
		return Hours{}
	}
	return p.HoursFor(t, b.SendWindow)
}

// Limited reports whether there are times at which a message must wait.
func (h Hours) Limited() bool { return h.window != nil }

// Zone returns the zone of a recipient.
func (h Hours) Zone(phone e164.Number) window.Zone {
	if h.window == nil { // always open: the zone does not matter
		return 0
	}
	return cmp.Or(area.Zone(uint64(phone)), h.zone)
}

// Opening is when the messages to a zone can go.
type Opening struct {
	window.Count

	OpensAt time.Time // zero for never
}

// InZones returns the messages by zone. Those without a zone are in that of the tenant.
func (h Hours) InZones(messages map[window.Zone]int) []window.Count {
	known := map[window.Zone]int{}
	for z, n := range messages {
		known[cmp.Or(z, h.zone)] += n
	}
	return window.Counts(known)
}

// Plan returns when messages that are due at an instant can go, and how many of them cannot go in time for notAfter,
// which is zero for no limit.
func (h Hours) Plan(messages []window.Count, due, notAfter time.Time) (plan []Opening, cannotGo int) {
	last := campaign.LastSend(notAfter)
	for _, c := range messages {
		opens := h.Opens(c.Zone, due)
		plan = append(plan, Opening{c, opens})
		if never(opens, last) {
			cannotGo += c.Messages
		}
	}
	return plan, cannotGo
}

// Open reports whether a message to a zone may go.
func (h Hours) Open(z window.Zone, at time.Time) bool { return h.window == nil || h.window.Open(z, at) }

// Opens returns when a message to a zone may go, at itself for at once, and the zero time if it never may.
func (h Hours) Opens(z window.Zone, at time.Time) time.Time {
	if h.window != nil {
		at = h.window.Opens(z, at)
	}
	return at.UTC()
}

// TTL returns the time for which the provider may try to deliver a message: ttl, or less if the rule ends it when the
// window closes, at least campaign.MinTTL.
func (h Hours) TTL(phone e164.Number, now time.Time, ttl time.Duration) time.Duration {
	if h.window == nil || !h.expires {
		return ttl
	}
	return min(ttl, max(h.window.Closes(h.Zone(phone), now).Sub(now), campaign.MinTTL))
}

// MaxWait is the longest time until a batch that waits is checked again. A changed rule causes a check at once.
const MaxWait = 7 * 24 * time.Hour

// Closed returns those of the zones in which the window is closed at an instant.
func (h Hours) Closed(of window.Set, at time.Time) (closed window.Set) {
	if h.window == nil {
		return 0
	}
	for _, z := range of.Zones() {
		if !h.Open(z, at) {
			closed = closed.With(z)
		}
	}
	return closed
}

// NextClosing returns when the window of a zone of the batch closes next, and the zero time if none closes within a day.
// A batch without Zones can have any.
func (h Hours) NextClosing(b campaign.Batch, now time.Time) (next time.Time) {
	if h.window == nil {
		return next
	}
	for _, z := range zonesOf(b).Zones() {
		closes := h.window.Closes(z, now)
		if closes.After(now) && closes.Before(now.Add(24*time.Hour)) && (next.IsZero() || closes.Before(next)) {
			next = closes
		}
	}
	return next
}

// NextOpening returns when a window of the zones opens first, at the latest after MaxWait.
func (h Hours) NextOpening(of window.Set, now time.Time) time.Time {
	next := now.Add(MaxWait)
	for _, z := range of.Zones() {
		if opens := h.Opens(z, now); !opens.IsZero() && opens.Before(next) {
			next = opens
		}
	}
	return next
}

// Equal reports whether the hours of two tenants are the same.
func (p TenantHours) Equal(other TenantHours) bool {
	return p.TenantZone() == other.TenantZone() && maps.Equal(p.Rules, other.Rules) &&
		slices.Equal(p.Holidays, other.Holidays) && maps.Equal(p.HolidayNames, other.HolidayNames)
}
