package web

import (
	"strconv"
	"strings"
	"time"

	"campaign-dispatch/internal/settings/account"
)

// Audit writes an audit log entry before a change is made. The action's text key is
// "audit." and its name, the subject is shown unchanged, and the details are text keys.
// If Audit fails, the change must not be made.
func (p *Page) Audit(action, subject string, details ...string) error {
	return p.AuditOn("", action, subject, details...)
}

// AuditOn is Audit for an object with a page of its own, the path link.
func (p *Page) AuditOn(link, action, subject string, details ...string) error {
	return p.ui.Store.AuditForm(p.R.Context(), p.entry(p.Session, link, action, subject, details))
}

// AuditOf is Audit for another session than the page's: one that begins or ends.
func (p *Page) AuditOf(session Session, action, subject string, details ...string) error {
	return p.ui.Store.Audit(p.R.Context(), p.entry(session, "", action, subject, details))
}

// AuditEntry returns what AuditOn writes, for a change that writes it together with what it changes.
func (p *Page) AuditEntry(link, action, subject string) account.AuditEntry {
	return p.entry(p.Session, link, action, subject, nil)
}

func (p *Page) entry(session Session, link, action, subject string, details []string) account.AuditEntry {
	return account.AuditEntry{
		Tenant: session.Tenant, At: p.ui.Now(), Who: session.Email, Link: link, Action: action, Subject: subject, Details: details,
	}
}

// moved begins the detail of an audit entry about a change of a time.
const moved = "moved "

// Moved returns the detail of an audit entry about a change of a time. Detail shows it in the
// reader's format.
func Moved(from, to time.Time) string {
	return moved + from.UTC().Format(time.RFC3339) + " " + to.UTC().Format(time.RFC3339)
}

// counted begins the detail of an audit entry with numbers.
const counted = "counted "

// Counted returns the detail of an audit entry with the text of a key and its numbers. Detail shows them in the reader's
// format.
func Counted(key string, numbers ...int) string {
	detail := counted + key
	for _, n := range numbers {
		detail += " " + strconv.Itoa(n)
	}
	return detail
}

// countedDetail returns the text of a result of Counted without its beginning.
func (p *Page) countedDetail(detail string) string {
	words := strings.Split(detail, " ")
	numbers := make([]any, len(words)-1)
	for i, word := range words[1:] {
		n, err := strconv.Atoi(word)
		if err != nil {
			return detail
		}
		numbers[i] = p.Number(n)
	}
	return p.T(words[0], numbers...)
}

// Detail returns the text of an audit entry's detail: the key of a text, or a result of Moved or Counted.
func (p *Page) Detail(detail string) string {
	if numbers, ok := strings.CutPrefix(detail, counted); ok {
		return p.countedDetail(numbers)
	}
	times, ok := strings.CutPrefix(detail, moved)
	if !ok {
		return p.T(detail)
	}
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
