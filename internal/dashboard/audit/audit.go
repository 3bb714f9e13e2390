// Package audit shows admins what people of their tenant have changed.
package audit

import (
	"context"
	"embed"
	"net/http"
	"strconv"
	"strings"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
)

// Log reads audit logs.
type Log interface {
	// AuditLog returns up to limit entries, newest first, from where an answer
	// before this one ended, and where this one ends: "" at the end of the log.
	AuditLog(ctx context.Context, tenant, older string, limit int) ([]campaign.AuditEntry, string, error)
}

// Pages are the pages of the audit log.
type Pages struct {
	Log Log
}

//go:embed *.html texts.json
var files embed.FS

// Area is this part of the dashboard.
func Area() web.Area { return web.Area{Files: files} }

// Path is where the audit log is.
const Path = web.Root + "/settings/audit"

// Register serves the pages.
func (s *Pages) Register(ui *web.UI, mux *http.ServeMux) {
	ui.AdminView(mux, Path, s.show)
}

// pageLength is how many entries a page has.
const pageLength = 50

// page is what the page shows: entries, and where the older ones begin.
type page struct {
	Entries []campaign.AuditEntry
	Older   string
	Later   bool // there are newer ones
}

// On returns what an entry is about, in the reader's language.
func (page) On(p *web.Page, e campaign.AuditEntry) string {
	details := make([]string, len(e.Details))
	for i, key := range e.Details {
		details[i] = p.T(key)
	}
	if e.Subject == "" || len(details) == 0 {
		return e.Subject + strings.Join(details, ", ")
	}
	return e.Subject + ": " + strings.Join(details, ", ")
}

func (s *Pages) show(p *web.Page) error {
	older := p.Query("older")
	if _, err := strconv.ParseUint(older, 10, 63); older != "" && err != nil {
		return campaign.ErrNotFound
	}
	entries, next, err := s.Log.AuditLog(p.R.Context(), p.Session.Tenant, older, pageLength)
	if err != nil {
		return err
	}
	return p.Render("audit.title", "audit.html", page{Entries: entries, Older: next, Later: older != ""})
}
