package web

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/reach"
)

// Openings returns when messages go, a line for each group: "Acre: 1.425, às 10:00 de lá". Lines of the day of said, in
// São Paulo, have no date: the page says it beside them. now is when what goes at once goes, zero for nothing.
func (p *Page) Openings(groups []reach.Group, said, now time.Time) []string {
	lines := make([]string, len(groups))
	for i, g := range groups {
		lines[i] = p.opening(g, said, now)
	}
	return lines
}

func (p *Page) opening(g reach.Group, said, now time.Time) string {
	switch {
	case len(g.Zones) == 0:
		return p.Count("ui.opens_unknown", g.Messages)
	case g.OpensAt.IsZero():
		return p.T("ui.opens_never", p.zones(g.Zones), p.Number(g.Messages))
	}
	local := g.Zones[0].Local(g.OpensAt)
	_, offset := local.Zone()
	_, brasilia := g.OpensAt.In(localtime.SaoPaulo()).Zone()
	names, key := p.zones(g.Zones), "ui.opens"
	if offset == brasilia {
		if key = "ui.opens_here"; len(g.Zones) > 1 {
			names = p.T("ui.zone.brasilia")
		}
	}
	if g.OpensAt.Equal(now) {
		key = "ui.opens_now"
	} else if local.Format(time.DateOnly) != said.In(localtime.SaoPaulo()).Format(time.DateOnly) {
		key += "_on"
	}
	return p.T(key, names, p.Number(g.Messages), local.Format("15:04"), local.Format(p.translation.day))
}

// Zone returns the name of a time zone, as people call the places in it.
func (p *Page) Zone(z window.Zone) string { return p.zones([]window.Zone{z}) }

// zones returns the names of time zones, at the beginning of a sentence.
func (p *Page) zones(all []window.Zone) string {
	names := make([]string, len(all))
	for i, z := range all {
		names[i] = p.T(fmt.Sprintf("ui.zone.%d", z))
	}
	last := len(names) - 1
	text := names[last]
	if last > 0 {
		text = p.T("ui.and", strings.Join(names[:last], ", "), text)
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// ClosedOn says on which holidays nothing is sent, "" for none.
func (p *Page) ClosedOn(holidays []window.Holiday) string {
	if len(holidays) == 0 {
		return ""
	}
	days := make([]string, len(holidays))
	for i, h := range holidays {
		days[i] = p.T("ui.closed_day", h.Date.Format(p.translation.day), p.holiday(h))
	}
	return p.T("ui.closed_on", strings.Join(days, ", "))
}

func (p *Page) holiday(h window.Holiday) string {
	switch {
	case h.National != "":
		return p.T("ui.holiday." + h.National)
	case h.Name != "":
		return h.Name
	}
	return p.T("ui.holiday.local")
}
