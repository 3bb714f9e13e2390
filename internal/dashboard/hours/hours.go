// Package hours shows when the messages of a tenant may go, and lets admins change it.
package hours

import (
	"context"
	"embed"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/reach"
)

// Store reads and writes the send policy of a tenant.
type Store interface {
	SendPolicy(ctx context.Context, tenant string) (reach.Policy, error)
	// SaveSendPolicy returns an error that wraps campaign.ErrLostRace if the revision is not the stored one.
	SaveSendPolicy(ctx context.Context, tenant string, p reach.Policy) error
}

// Pages are the pages of the sending hours.
type Pages struct {
	Store     Store
	Campaigns Campaigns
	Now       func() time.Time
}

//go:embed *.html texts.json
var files embed.FS

// Area returns the pages and texts of the sending hours.
func Area() web.Area { return web.Area{Files: files, Texts: []string{"hours", "audit"}} }

// Path is the path of the page.
const Path = web.Root + "/settings/hours"

// Register serves the page.
func (s *Pages) Register(ui *web.UI, mux *http.ServeMux) {
	ui.Get(mux, Path, web.RoleViewer, s.show)
	ui.Post(mux, Path, web.RoleAdmin, s.change)
}

// ruled are the traffic types that can have a rule, in the order of the page.
var ruled = [...]campaign.Traffic{campaign.Promotion, campaign.Transaction, campaign.ServiceRequest}

// week are the days in the order of the page.
var week = [...]time.Weekday{time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday, time.Saturday, time.Sunday}

func (s *Pages) show(p *web.Page) error {
	stored, err := s.Store.SendPolicy(p.R.Context(), p.Session.Tenant)
	if err != nil {
		return err
	}
	return render(p, http.StatusOK, view{form: formOf(stored)}, stored)
}

// render shows the form.
func render(p *web.Page, status int, v view, stored reach.Policy) error {
	v.Was, v.Proposed, v.Zones = revisionText(stored), stored.Revision == 0, window.All()
	return p.RenderStatus(status, "hours.title", "hours.html", v)
}

func (s *Pages) change(p *web.Page) error {
	ctx, tenant := p.R.Context(), p.Session.Tenant
	old, err := s.Store.SendPolicy(ctx, tenant)
	if err != nil {
		return err
	}
	f := readForm(p)
	entered, fault := f.policy()
	switch {
	case fault != "":
		return render(p, http.StatusUnprocessableEntity, view{form: f, Fault: "hours.fault." + fault}, old)
	case p.Stale(revisionText(old)):
		return render(p, http.StatusConflict, view{form: f, Fault: stale}, old)
	case old.Revision > 0 && entered.Equal(old):
		return p.Done(Path, "hours.saved")
	}
	switch u, err := s.unsentBy(ctx, tenant, entered); {
	case err != nil:
		return err
	case u.People > confirmed(p):
		return render(p, http.StatusConflict, view{form: f, Unsent: u}, old)
	}
	if err := p.AuditOn(Path, "hours.change", summary(entered)); err != nil {
		return err
	}
	entered.Revision = old.Revision
	err = s.Store.SaveSendPolicy(ctx, tenant, entered)
	if errors.Is(err, campaign.ErrLostRace) {
		if old, err = s.Store.SendPolicy(ctx, tenant); err == nil {
			return render(p, http.StatusConflict, view{form: f, Fault: stale}, old)
		}
	}
	if err != nil {
		return err
	}
	return p.Done(Path, "hours.saved")
}

// stale is the key of the text for hours that somebody else has changed.
const stale = "hours.fault.stale"

// confirmed returns to how many people nothing will be sent by what the form says, as the person has seen it.
func confirmed(p *web.Page) int {
	n, _ := strconv.Atoi(p.Field("unsent")) // 0 for none
	return n
}

// summary returns the rules for the audit log, in the same form in any language.
func summary(p reach.Policy) string {
	var texts []string
	for _, t := range ruled {
		if rule, ok := p.Rule(t); ok {
			texts = append(texts, string(t)+" "+rule.String())
		}
	}
	if len(texts) == 0 {
		return "–"
	}
	return strings.Join(texts, "; ")
}
