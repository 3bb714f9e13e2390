// Package audit shows admins the changes that people of their tenant have made.
package audit

import (
	"cmp"
	"context"
	"embed"
	"net/http"
	"strings"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
)

// Log reads audit logs.
type Log interface {
	// AuditLog returns up to limit entries, newest first, from the cursor older. The
	// next cursor is "" at the end of the log.
	AuditLog(ctx context.Context, tenant, older string, limit int) ([]account.AuditEntry, string, error)
}

// Pages are the pages of the audit log.
type Pages struct {
	Log Log
}

//go:embed *.html texts.json
var files embed.FS

// Area returns the pages and texts of the audit log.
func Area() web.Area { return web.Area{Files: files, Texts: []string{"audit"}} }

// Path is the path of the audit log.
const Path = web.Root + "/settings/audit"

// Register serves the pages.
func (s *Pages) Register(ui *web.UI, mux *http.ServeMux) {
	ui.Get(mux, Path, web.RoleAdmin, web.With(filterOf, s.show))
	ui.Get(mux, Path+"/export", web.RoleAdmin, web.With(filterOf, s.export))
}

const pageLength = 50

type page struct {
	filter
	Entries []account.AuditEntry
	Areas   []string
	Export  string // path of the matching entries as a file
	Older   string
	Later   bool // there are newer ones
}

// On returns the subject of an entry in the reader's language.
func (page) On(p *web.Page, e account.AuditEntry) string { return on(p, e) }

func on(p *web.Page, e account.AuditEntry) string {
	details, between := make([]string, len(e.Details)), ", "
	for i, detail := range e.Details {
		if details[i] = p.Detail(detail); strings.Contains(details[i], ",") {
			between = "; "
		}
	}
	if e.Subject == "" || len(details) == 0 {
		return e.Subject + strings.Join(details, between)
	}
	return e.Subject + ": " + strings.Join(details, between)
}

func (s *Pages) show(p *web.Page, f filter) (err error) {
	found := page{filter: f, Areas: areas, Export: Path + "/export?" + p.R.URL.RawQuery, Later: p.Query("older") != ""}
	found.Entries, found.Older, err = s.find(p, f, p.Query("older"), pageLength, maxLooked)
	if err != nil {
		return err
	}
	return p.Render("audit.title", "audit.html", found)
}

const (
	// readLength is the number of entries read at once.
	readLength = 200
	// maxLooked is the number of entries that a search reads. The next page continues
	// after them.
	maxLooked = 2_000
)

// find returns up to limit matching entries among the next looked ones, and the cursor of
// older ones.
func (s *Pages) find(p *web.Page, f filter, older string, limit, looked int) (found []account.AuditEntry, next string, err error) {
	older = cmp.Or(older, f.newest())
	for ; looked > 0; looked -= readLength {
		entries, after, err := s.Log.AuditLog(p.R.Context(), p.Session.Tenant, older, readLength)
		if err != nil {
			return nil, "", err
		}
		for _, e := range entries {
			switch {
			case e.At.Before(f.Start):
				return found, "", nil
			case len(found) > 0 && repeats(found[len(found)-1], e):
				found[len(found)-1] = e
			case len(found) == limit:
				return found, found[limit-1].Cursor, nil
			case f.matches(e):
				found = append(found, e)
			}
		}
		if older = after; older == "" {
			break
		}
	}
	return found, older, nil
}

// repeatedWithin is the maximum time between two entries of one change, as after a
// double click.
const repeatedWithin = time.Minute

// repeats reports whether an entry of a campaign is about the same change as an older one.
func repeats(e, older account.AuditEntry) bool {
	return strings.HasPrefix(e.Action, "campaign.") && e.Action == older.Action && e.Who == older.Who &&
		e.Subject == older.Subject && e.Link == older.Link && e.At.Sub(older.At) < repeatedWithin
}

const maxExported = 10_000

func (s *Pages) export(p *web.Page, f filter) error {
	entries, _, err := s.find(p, f, "", maxExported, maxExported)
	if err != nil {
		return err
	}
	file := campaign.AppendRow(nil, web.CSVSeparator, p.T("audit.when"), p.T("audit.who"), p.T("audit.what"), p.T("audit.subject"))
	for _, e := range entries {
		file = campaign.AppendRow(file, web.CSVSeparator, p.When(e.At), e.Who, p.T("audit."+e.Action), on(p, e))
	}
	return p.CSV("audit.file_name", file)
}
