// Package audit shows admins the changes that people of their tenant have made.
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
	// AuditLog returns up to limit entries, newest first, from the cursor older. The
	// next cursor is "" at the end of the log.
	AuditLog(ctx context.Context, tenant, older string, limit int) ([]campaign.AuditEntry, string, error)
}

// Pages are the pages of the audit log.
type Pages struct {
	Log Log
}

//go:embed *.html texts.json
var files embed.FS

// Area returns the pages and texts of the audit log.
func Area() web.Area { return web.Area{Files: files} }

// Path is the path of the audit log.
const Path = web.Root + "/settings/audit"

// Register serves the pages.
func (s *Pages) Register(ui *web.UI, mux *http.ServeMux) {
	ui.AdminView(mux, Path, s.show)
}

// pageLength is the number of entries per page.
const pageLength = 50

// page is the data of the page: entries, and the cursor of older ones.
type page struct {
	Entries []campaign.AuditEntry
	Older   string
	Later   bool // there are newer ones
}

// On returns the subject of an entry in the reader's language.
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
