// Package billing shows the prices and the budget of a tenant. Admins can change them.
package billing

import (
	"context"
	"embed"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/settings"
)

// Store reads prices, limits, and what batches have reserved.
type Store interface {
	// Billing returns the prices and limits of a tenant, zero for none.
	Billing(ctx context.Context, tenant string) (campaign.Billing, error)
	// MonthSpending returns what is reserved for a month, as 2026-11, zero for nothing.
	MonthSpending(ctx context.Context, tenant, month string) (campaign.MonthSpending, error)
}

// Pages are the pages of prices and the budget.
type Pages struct {
	Store Store
	Admin *settings.Service
	Now   func() time.Time
}

//go:embed *.html texts.json
var files embed.FS

// Area returns the pages and texts of prices and the budget.
func Area() web.Area { return web.Area{Files: files, Texts: []string{"billing", "audit"}} }

// Path is the path of the page.
const Path = web.Root + "/settings/billing"

// Register serves the page.
func (s *Pages) Register(ui *web.UI, mux *http.ServeMux) {
	ui.Get(mux, Path, web.RoleViewer, web.With(s.stored, s.show))
	ui.Post(mux, Path, web.RoleAdmin, web.With(s.stored, s.change))
}

type view struct {
	campaign.Billing
	Used   campaign.Spending // of today and of this month
	Ahead  []reserved        // for the next days of this month and of the next one
	Fields []field
	Fault  string // the key of a text
	Was    string // the stored amounts, as text
}

type reserved struct {
	Date   string
	Amount campaign.Money
}

type field struct {
	Name, Value string
	Amount      campaign.Money // stored
	Fault       bool
}

func (s *Pages) stored(p *web.Page) (campaign.Billing, error) {
	return s.Store.Billing(p.R.Context(), p.Session.Tenant)
}

func (s *Pages) show(p *web.Page, b campaign.Billing) error {
	entry := func(m campaign.Money) string {
		if m == 0 {
			return ""
		}
		return strings.Replace(m.Entry(), ".", p.T("billing.point"), 1)
	}
	form := campaign.BillingForm{Basic: entry(b.Basic), Single: entry(b.Single), Day: entry(b.Limits.Day), Month: entry(b.Limits.Month)}
	return s.render(p, http.StatusOK, b, form, "")
}

// render shows the page. fault is the code of the form's error, or "".
func (s *Pages) render(p *web.Page, status int, b campaign.Billing, form campaign.BillingForm, fault string) error {
	v := view{Billing: b, Was: summary(b), Fields: []field{
		{"basic", form.Basic, b.Basic, fault == "basic"},
		{"single", form.Single, b.Single, fault == "single"},
		{"day", form.Day, b.Limits.Day, fault == "day"},
		{"month", form.Month, b.Limits.Month, fault == "month"},
	}}
	if fault != "" {
		v.Fault = "billing.fault." + fault
	}
	if b.Limited() {
		if err := s.addReserved(p, &v); err != nil {
			return err
		}
	}
	return p.RenderStatus(status, "billing.title", "billing.html", v)
}

// addReserved adds what is reserved for today and for later days.
func (s *Pages) addReserved(p *web.Page, v *view) error {
	today, now := localtime.Day(s.Now()), s.Now().In(localtime.SaoPaulo())
	next := time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
	for _, first := range []string{today, next} {
		of, err := s.Store.MonthSpending(p.R.Context(), p.Session.Tenant, campaign.MonthOf(first))
		if err != nil {
			return err
		}
		if first == today {
			v.Used = of.On(today)
		}
		for _, date := range slices.Sorted(maps.Keys(of.Days)) {
			if date > today {
				v.Ahead = append(v.Ahead, reserved{date, of.Days[date]})
			}
		}
	}
	return nil
}

func (s *Pages) change(p *web.Page, old campaign.Billing) error {
	form := campaign.BillingForm{Basic: p.Field("basic"), Single: p.Field("single"), Day: p.Field("day"), Month: p.Field("month")}
	b, err := s.Admin.CheckBilling(form)
	if fault := web.FaultOf("", err); fault != "" {
		return s.render(p, http.StatusUnprocessableEntity, old, form, fault)
	}
	if err != nil {
		return err
	}
	return web.Setting[campaign.Billing]{
		Read:  func() (campaign.Billing, error) { return s.stored(p) },
		Has:   func(stored campaign.Billing) bool { return b == stored },
		Stale: func(stored campaign.Billing) bool { return p.Stale(summary(stored)) },
		Save: func(stored campaign.Billing) error {
			entry := p.AuditEntry(Path, "billing.change", "", changes(stored, b)...)
			return s.Admin.SaveBilling(p.R.Context(), p.Session.Tenant, stored, b, entry)
		},
		Saved: func() error { return p.Done(Path, "billing.saved") },
		Overtaken: func(stored campaign.Billing) error {
			return s.render(p, http.StatusConflict, stored, form, "stale")
		},
	}.Change(old)
}

// changes returns the details of the entry in the audit log: each amount that has changed.
func changes(old, b campaign.Billing) (details []string) {
	for _, amount := range []struct {
		key      string
		was, now campaign.Money
	}{
		{"basic", old.Basic, b.Basic},
		{"single", old.Single, b.Single},
		{"day", old.Limits.Day, b.Limits.Day},
		{"month", old.Limits.Month, b.Limits.Month},
	} {
		if amount.was != amount.now {
			details = append(details, web.Said("audit.billing."+amount.key,
				web.AuditMoney(amount.was, "audit.billing.none"), web.AuditMoney(amount.now, "audit.billing.none")))
		}
	}
	return details
}

// summary returns the amounts as the state of the form: the two prices, then the limits of a day and a month.
func summary(b campaign.Billing) string {
	return fmt.Sprintf("%s/%s/%s/%s", b.Basic, b.Single, b.Limits.Day, b.Limits.Month)
}
