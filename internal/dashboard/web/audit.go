package web

import "campaign-dispatch/internal/account"

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
func (p *Page) AuditEntry(link, action, subject string, details ...string) account.AuditEntry {
	return p.entry(p.Session, link, action, subject, details)
}

func (p *Page) entry(session Session, link, action, subject string, details []string) account.AuditEntry {
	return account.AuditEntry{
		Tenant: session.Tenant, At: p.ui.Now(), Who: session.Email, Link: link, Action: action, Subject: subject, Details: details,
	}
}
