package lists

import (
	"strconv"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/reach/lists"
)

// form has the settings of a list as they were entered.
type form struct {
	Name, Reason, Source, AreaCodes, Until string
	Traffic                                map[string]bool
}

func readForm(p *web.Page) form {
	f := form{
		Name: p.Field("name"), Reason: p.Field("reason"), Source: p.Field("source"), AreaCodes: p.Field("areaCodes"), Until: p.Field("until"),
		Traffic: map[string]bool{},
	}
	for _, t := range p.R.PostForm["traffic"] {
		f.Traffic[t] = true
	}
	return f
}

func formOf(l lists.List) form {
	f := form{Name: l.Name, Reason: l.Reason, Source: l.Source, Traffic: map[string]bool{}}
	codes := make([]string, len(l.AreaCodes))
	for i, code := range l.AreaCodes {
		codes[i] = strconv.Itoa(code)
	}
	f.AreaCodes = strings.Join(codes, " ")
	for _, t := range l.Traffic {
		f.Traffic[string(t)] = true
	}
	f.Until = lastDay(l.Until)
	return f
}

// lastDay returns the day in São Paulo on which a list that ends at a time still applies, "" for no end.
func lastDay(until time.Time) string {
	if until.IsZero() {
		return ""
	}
	return localtime.Day(until.Add(-time.Nanosecond))
}

// Kinds returns the purposes of messages in the order of the form.
func (f form) Kinds() []campaign.Traffic { return lists.Traffics }

// Chosen reports whether the list applies to a purpose.
func (f form) Chosen(t campaign.Traffic) bool { return f.Traffic[string(t)] }

// settings returns the settings of the form for a list with former ones. fault is the key of a text, or "". A
// list ends with its last day, unless the day was not edited: then it keeps its end.
func (f form) settings(was lists.Settings, now time.Time) (settings lists.Settings, fault string) {
	settings = lists.Settings{Reason: f.Reason, Source: f.Source, Until: was.Until}
	for _, word := range strings.FieldsFunc(f.AreaCodes, func(c rune) bool { return c == ' ' || c == ',' || c == ';' }) {
		code, err := strconv.Atoi(word)
		if err != nil {
			return settings, "lists.fault.area_code"
		}
		settings.AreaCodes = append(settings.AreaCodes, code)
	}
	for _, t := range lists.Traffics {
		if f.Chosen(t) {
			settings.Traffic = append(settings.Traffic, t)
		}
	}
	if f.Until != lastDay(was.Until) {
		var err error
		if settings.Until, err = endOf(f.Until); err != nil {
			return settings, "lists.fault.until"
		}
	}
	return settings, web.FaultOf("lists.fault.", settings.CheckAfter(was, now))
}

// endOf returns the end of a day in São Paulo, and the zero time for "".
func endOf(day string) (time.Time, error) {
	if day == "" {
		return time.Time{}, nil
	}
	begins, err := time.ParseInLocation(time.DateOnly, day, localtime.SaoPaulo())
	return begins.AddDate(0, 0, 1), err
}
