// Package hours shows when the messages of a tenant may go, and lets admins change it.
package hours

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/reach"
)

// Store reads and writes the hours of a tenant.
type Store interface {
	// TenantHours returns the hours of a tenant, zero for none. The error wraps campaign.ErrDamaged if they cannot be read.
	TenantHours(ctx context.Context, tenant string) (reach.TenantHours, error)
	// SaveTenantHours writes the entries of the audit log with the change. The error wraps campaign.ErrLostRace if the
	// revision is not the stored one.
	SaveTenantHours(ctx context.Context, tenant string, p reach.TenantHours, audit ...account.AuditEntry) error
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
	ui.Get(mux, Path, web.RoleViewer, web.With(s.stored, show))
	ui.Post(mux, Path, web.RoleAdmin, web.With(s.stored, s.change))
}

// ruled are the traffic types that can have a rule, in the order of the page.
var ruled = [...]campaign.Traffic{campaign.Promotion, campaign.Transaction, campaign.ServiceRequest}

// week are the days in the order of the page.
var week = [...]time.Weekday{time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday, time.Saturday, time.Sunday}

func (s *Pages) stored(p *web.Page) (reach.TenantHours, error) {
	return s.Store.TenantHours(p.R.Context(), p.Session.Tenant)
}

func show(p *web.Page, stored reach.TenantHours) error {
	return render(p, http.StatusOK, view{form: formOf(stored)}, stored)
}

// render shows the form.
func render(p *web.Page, status int, v view, stored reach.TenantHours) error {
	v.Was, v.Proposed, v.Zones = revisionText(stored), stored.Revision == 0, window.All()
	return p.RenderStatus(status, "hours.title", "hours.html", v)
}

func (s *Pages) change(p *web.Page, old reach.TenantHours) error {
	f := readForm(p)
	entered, fault := f.policy()
	if fault != "" {
		return render(p, http.StatusUnprocessableEntity, view{form: f, Fault: "hours.fault." + fault}, old)
	}
	return web.Setting[reach.TenantHours]{
		Read:  func() (reach.TenantHours, error) { return s.stored(p) },
		Has:   func(stored reach.TenantHours) bool { return stored.Revision > 0 && entered.Equal(stored) },
		Stale: func(stored reach.TenantHours) bool { return p.Stale(revisionText(stored)) },
		Ask:   func(stored reach.TenantHours) (bool, error) { return s.ask(p, f, entered, stored) },
		Save: func(stored reach.TenantHours) error {
			entered.Revision = stored.Revision
			entry := p.AuditEntry(Path, "hours.change", "", changes(stored, entered)...)
			return s.Store.SaveTenantHours(p.R.Context(), p.Session.Tenant, entered, entry)
		},
		Saved: func() error { return p.Done(Path, "hours.saved") },
		Overtaken: func(stored reach.TenantHours) error {
			return render(p, http.StatusConflict, view{form: f, Fault: "hours.fault.stale"}, stored)
		},
	}.Change(old)
}

// ask asks whether to save hours by which nothing will be sent to some people, unless the person has seen how many.
func (s *Pages) ask(p *web.Page, f form, entered, stored reach.TenantHours) (asked bool, err error) {
	u, err := s.unsentBy(p.R.Context(), p.Session.Tenant, entered)
	if err != nil {
		return false, err
	}
	hours, err := digestOf(entered)
	if err != nil || u.People <= seen(p, hours) {
		return false, err
	}
	return true, render(p, http.StatusConflict, view{form: f, Unsent: u, Entered: hours}, stored)
}

// digestOf identifies the hours that a person enters.
func digestOf(p reach.TenantHours) (string, error) {
	data, err := json.Marshal(p)
	return campaign.Digest(string(data)), err
}

// seen returns how many people the person has seen who get nothing by the same hours, 0 for none.
func seen(p *web.Page, hours string) (people int) {
	if p.Field("entered") == hours {
		people, _ = strconv.Atoi(p.Field("unsent"))
	}
	return people
}

// changes returns the details of the entry in the audit log: what is new in the rules, the local holidays and the zone.
func changes(old, entered reach.TenantHours) (details []string) {
	for _, t := range ruled {
		was, ruledBefore := old.Rule(t)
		if rule, ok := entered.Rule(t); ok != ruledBefore || rule != was {
			details = append(details, ruleDetails(t, rule, ok)...)
		}
	}
	if !slices.Equal(old.Holidays, entered.Holidays) || !maps.Equal(old.HolidayNames, entered.HolidayNames) {
		details = append(details, web.Said("audit.hours.holidays", web.AuditDates(entered.Holidays, "audit.hours.no_holidays")))
	}
	if old.TenantZone() != entered.TenantZone() {
		zone := web.AuditText(fmt.Sprintf("ui.zone.%d", entered.TenantZone()))
		details = append(details, web.Said("audit.hours.zone", zone))
	}
	return details
}

// ruleDetails returns the details of the rule of a traffic type. ok is false if it has none.
func ruleDetails(t campaign.Traffic, rule reach.Rule, ok bool) []string {
	key := "audit.hours." + string(t)
	if !ok {
		return []string{web.Said(key, web.AuditText("audit.hours.any"))}
	}
	details := []string{web.Said(key, web.AuditWeek(rule.Week))}
	if rule.OffHolidays {
		details = append(details, "audit.hours.off_holidays")
	}
	if rule.ExpireAtClose {
		details = append(details, "audit.hours.expire")
	}
	return details
}
