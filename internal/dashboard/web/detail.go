package web

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
)

// The beginnings of the details of audit entries that are not the key of a text.
const (
	moved = "moved "
	said  = "said "
)

// Moved returns the detail of an audit entry about a change of a time. Detail shows it in the
// reader's format.
func Moved(from, to time.Time) string {
	return moved + from.UTC().Format(time.RFC3339) + " " + to.UTC().Format(time.RFC3339)
}

// Said returns the detail of an audit entry: a text with arguments. Detail shows them in the reader's language.
func Said(key string, args ...AuditArg) string {
	words := []string{key}
	for _, a := range args {
		words = append(words, string(a))
	}
	return said + strings.Join(words, " ")
}

// AuditArg is an argument of Said, without spaces and commas.
type AuditArg string

// The beginnings of an AuditArg. Its value follows.
const (
	argText   = "text:"
	argMoney  = "money:"
	argNumber = "number:"
	argDates  = "dates:"
	argWeek   = "week:"
	argFree   = "free:"
)

// AuditText is the text of a key.
func AuditText(key string) AuditArg { return AuditArg(argText + key) }

// AuditMoney is an amount, or the text of a key if it is 0.
func AuditMoney(m campaign.Money, none string) AuditArg {
	if m == 0 {
		return AuditText(none)
	}
	return AuditArg(argMoney + strconv.FormatInt(int64(m), 10))
}

// AuditNumber is a whole number.
func AuditNumber(n int) AuditArg { return AuditArg(argNumber + strconv.Itoa(n)) }

// AuditFree is a text that a person wrote. It is shown unchanged.
func AuditFree(text string) AuditArg { return AuditArg(argFree + url.QueryEscape(text)) }

// AuditDates are dates, as 2026-07-09, and days of each year, as 07-09, or the text of a key if there are none.
func AuditDates(dates []string, none string) AuditArg {
	if len(dates) == 0 {
		return AuditText(none)
	}
	return AuditArg(argDates + strings.Join(dates, "+"))
}

// AuditWeek are the hours of the days of a week.
func AuditWeek(w window.Week) AuditArg {
	var groups []string
	for _, g := range daysOf(w) {
		groups = append(groups, strconv.Itoa(g.first)+"-"+strconv.Itoa(g.last)+"="+window.Clock(g.From)+"-"+window.Clock(g.Until))
	}
	return AuditArg(argWeek + strings.Join(groups, "+"))
}

// days are consecutive days with the same hours, numbered from 1 for Monday.
type days struct {
	first, last int
	window.Hours
}

// daysOf returns the open days of a week.
func daysOf(w window.Week) (groups []days) {
	for i := range w {
		n, h := i+1, w[(i+1)%len(w)]
		last := len(groups) - 1
		switch {
		case h.Closed():
		case last >= 0 && groups[last].last == i && groups[last].Hours == h:
			groups[last].last = n
		default:
			groups = append(groups, days{n, n, h})
		}
	}
	return groups
}

// Detail returns the text of an audit entry's detail: the key of a text, or a result of Moved or Said.
func (p *Page) Detail(detail string) string {
	if words, ok := strings.CutPrefix(detail, said); ok {
		return p.said(strings.Split(words, " "))
	}
	if times, ok := strings.CutPrefix(detail, moved); ok {
		return p.moved(detail, times)
	}
	return p.T(detail)
}

func (p *Page) moved(detail, times string) string {
	first, second, _ := strings.Cut(times, " ")
	from, err := time.Parse(time.RFC3339, first)
	if err != nil {
		return detail
	}
	to, err := time.Parse(time.RFC3339, second)
	if err != nil {
		return detail
	}
	return p.When(from) + " → " + p.When(to)
}

// said returns the text of a key with its arguments.
func (p *Page) said(words []string) string {
	args := make([]any, len(words)-1)
	for i, word := range words[1:] {
		args[i] = p.auditArg(word)
	}
	return p.T(words[0], args...)
}

func (p *Page) auditArg(word string) string {
	kind, value, _ := strings.Cut(word, ":")
	switch kind + ":" {
	case argText:
		return p.T(value)
	case argMoney:
		if m, err := strconv.ParseInt(value, 10, 64); err == nil {
			return p.Price(campaign.Money(m))
		}
	case argNumber:
		if n, err := strconv.Atoi(value); err == nil {
			return p.Number(n)
		}
	case argFree:
		if text, err := url.QueryUnescape(value); err == nil {
			return text
		}
	case argDates:
		return p.each(value, p.Date)
	case argWeek:
		return p.each(value, p.days)
	}
	return word
}

// each returns the texts of values that are separated by a plus sign.
func (*Page) each(values string, text func(value string) string) string {
	all := strings.Split(values, "+")
	for i, value := range all {
		all[i] = text(value)
	}
	return strings.Join(all, ", ")
}

// Date returns a date as 2026-07-09, or a day of each year as 07-09, in the reader's format.
func (p *Page) Date(value string) string {
	if at, err := time.Parse(time.DateOnly, value); err == nil {
		return at.Format(p.translation.date)
	}
	if at, err := time.Parse("01-02", value); err == nil {
		return at.Format(p.translation.day)
	}
	return value
}

// days returns the text of days with their hours, as 1-5=09:00-21:00.
func (p *Page) days(value string) string {
	of, hours, _ := strings.Cut(value, "=")
	first, last, _ := strings.Cut(of, "-")
	text := p.weekday(first)
	if last != first {
		text = p.T("ui.weekdays", text, p.weekday(last))
	}
	return text + " " + strings.Replace(hours, "-", "–", 1)
}

// weekday returns the name of a day within a sentence. It is numbered from 1 for Monday.
func (p *Page) weekday(n string) string {
	name := p.T("ui.weekday." + n)
	if p.translation.code == "pt" {
		return strings.ToLower(name)
	}
	return name
}
