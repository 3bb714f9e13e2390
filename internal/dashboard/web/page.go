package web

import (
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/text/number"

	"campaign-dispatch/internal/campaign"
)

// Page is one request for a page and its answer. Templates get it as their dot:
// {{.T "key"}}, {{.Number 1234}}, {{.When .Data.CreatedAt}}, {{.Session.CSRF}}.
type Page struct {
	W       http.ResponseWriter
	R       *http.Request
	Base    string // the service's address
	Session Session
	Title   string        // in the reader's language; where a handler sets none, Render does
	Data    any           // what the page shows
	Body    template.HTML // of the layout
	Refresh int           // seconds after which a browser without scripts asks again, 0 for never

	ui     *UI
	tongue *tongue
}

// Render answers with a page: name is its file, titleKey the key of its title.
func (p *Page) Render(titleKey, name string, data any) error {
	return p.RenderStatus(http.StatusOK, titleKey, name, data)
}

// RenderStatus is Render with another status.
func (p *Page) RenderStatus(status int, titleKey, name string, data any) error {
	if p.Title == "" {
		p.Title = p.T(titleKey)
	}
	p.Data = data
	return p.render(status, name, false)
}

// ShowMedia lets the page show images of other hosts, as the templates of tenants
// have them. Other pages can load nothing from anywhere else, nor send it there.
func (p *Page) ShowMedia() { p.W.Header().Set("Content-Security-Policy", p.ui.policy(allImages)) }

// Fragment answers with a part of a page, which htmx puts into it.
func (p *Page) Fragment(name string, data any) error {
	p.Data = data
	return p.render(http.StatusOK, name, true)
}

// Partial reports whether htmx asks, for a part of a page.
func (p *Page) Partial() bool { return p.R.Header.Get("HX-Request") == "true" }

// Redirect sends the browser to a path of the dashboard, also from within htmx.
func (p *Page) Redirect(path string) error {
	if p.Partial() {
		p.W.Header().Set("HX-Redirect", path)
		p.W.WriteHeader(http.StatusNoContent)
		return nil
	}
	p.W.Header().Set("Location", path)
	p.W.WriteHeader(http.StatusSeeOther)
	return nil
}

// Lang is the reader's language for the lang attribute.
func (p *Page) Lang() string { return p.tongue.tag.String() }

// T returns a text in the reader's language; a key that does not exist is shown
// as it is.
func (p *Page) T(key string, args ...any) string {
	text, ok := p.tongue.texts[key]
	if !ok {
		return key
	}
	return fill(text, args)
}

// Has reports whether there is a text of the key.
func (p *Page) Has(key string) bool { return p.tongue.texts[key] != "" }

// Known returns the text of the key, or otherwise where there is none.
func (p *Page) Known(key, otherwise string) string {
	if p.Has(key) {
		return p.T(key)
	}
	return otherwise
}

// Number returns a whole number in the reader's format.
func (p *Page) Number(n int) string { return p.tongue.numbers.Sprint(number.Decimal(n)) }

// Percent returns part of whole in the reader's format, "" where whole is 0.
func (p *Page) Percent(part, whole int) string {
	if whole == 0 {
		return ""
	}
	return p.tongue.numbers.Sprint(number.Percent(float64(part)/float64(whole), number.MaxFractionDigits(1)))
}

// When returns an instant as date and time in São Paulo, "" for none.
func (p *Page) When(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.In(saoPaulo).Format(p.tongue.instant)
}

// Local returns an instant as the value of a field of type datetime-local, in São
// Paulo.
func (p *Page) Local(at time.Time) string { return at.In(saoPaulo).Format("2006-01-02T15:04") }

// Hour returns the time of day of an instant in São Paulo.
func (p *Page) Hour(at time.Time) string { return at.In(saoPaulo).Format("15:04") }

// ISO returns an instant for the datetime attribute.
func (p *Page) ISO(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// Admin reports whether the person may change things.
func (p *Page) Admin() bool { return p.Session.Role == RoleAdmin }

// SignedIn reports whether the page has a session.
func (p *Page) SignedIn() bool { return p.Session.Email != "" }

// In reports whether the page lies in a part of the dashboard, such as
// /dashboard/campaigns.
func (p *Page) In(part string) bool { return within(p.R.URL.Path, part) }

// Asset returns the path of a file of the dashboard's own; it changes with the
// file, so that browsers may keep it.
func (p *Page) Asset(name string) string { return assetPath(name) }

// Field returns what was entered in a form's field, without the white space around
// it, and "" where there is none.
func (p *Page) Field(name string) string { return strings.TrimSpace(p.R.PostFormValue(name)) }

// Query returns a parameter of the page's address.
func (p *Page) Query(name string) string { return p.R.URL.Query().Get(name) }

// With returns the page's address with a parameter changed, or removed where the
// value is empty.
func (p *Page) With(name, value string) string {
	q := p.R.URL.Query()
	if value == "" {
		q.Del(name)
	} else {
		q.Set(name, value)
	}
	return (&url.URL{Path: p.R.URL.Path, RawQuery: q.Encode()}).String()
}

// LanguageLink leads to the same page in the other language.
func (p *Page) LanguageLink() string {
	return Root + "/language/" + p.T("ui.other_language_code") + "?to=" + url.QueryEscape(p.R.URL.RequestURI())
}

// Explain returns what a refusal says.
func (p *Page) Explain(r *Refusal) string { return p.T(r.Key, r.Args...) }

// Audit writes down what the person is about to change, before it is done: the
// action's text is "audit." and its name, the subject is shown as it is, and the
// details are keys of texts. Without the entry nothing may be changed.
func (p *Page) Audit(action, subject string, details ...string) error {
	return p.AuditOf(p.Session, action, subject, details...)
}

// AuditOf is Audit for a session that is not the page's: one that begins or ends.
func (p *Page) AuditOf(session Session, action, subject string, details ...string) error {
	return p.ui.Auditor.Audit(p.R.Context(), campaign.AuditEntry{
		Tenant: session.Tenant, At: p.ui.Now(), Who: session.Email, Action: action, Subject: subject, Details: details,
	})
}
