package overview

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/dashboard/web"
)

// alert is something that needs attention. Its texts are "overview.alert." and its key.
type alert struct {
	Key  string
	Name string // of a campaign or an endpoint, or an amount
	Path string // "" for none
	N    int    // things that wait, 0 for none
}

// attention is what can need attention besides campaigns.
type attention struct {
	endpoints []alert
	pause     string
	limits    campaign.Spending
	used      campaign.Spending
	waiting   int // requests for approval that the person may decide
}

func (s *Pages) attention(ctx context.Context, who web.Session) (a attention, err error) {
	tenant := who.Tenant
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) { a.endpoints, err = s.endpoints(ctx, tenant); return err })
	group.Go(func() (err error) { a.pause, err = s.pause(ctx, tenant); return err })
	group.Go(func() error { return s.budget(ctx, tenant, &a) })
	group.Go(func() (err error) { a.waiting, err = s.waiting(ctx, who); return err })
	return a, group.Wait()
}

// endpoints returns the endpoints that are disabled by the service or keep failing.
func (s *Pages) endpoints(ctx context.Context, tenant string) (alerts []alert, err error) {
	all, err := s.Store.Endpoints(ctx, tenant)
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		one := alert{Name: named(e.URL), Path: web.Root + "/settings/webhooks/" + e.ID}
		if e.Off() {
			one.Key = "endpoint_off"
			alerts = append(alerts, one)
			continue
		}
		circuit, err := s.Store.Circuit(ctx, tenant, e.ID)
		if err != nil {
			return nil, err
		}
		if circuit.Open() {
			one.Key = "endpoint_failing"
			alerts = append(alerts, one)
		}
	}
	return alerts, nil
}

// named returns the host and the path of a URL. Its query may contain a secret.
func named(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host + strings.TrimSuffix(u.Path, "/")
}

// pause returns what pauses the tenant's sending, "" for nothing.
func (s *Pages) pause(ctx context.Context, tenant string) (string, error) {
	t, err := s.Store.Tenant(ctx, tenant)
	if err != nil && !errors.Is(err, campaign.ErrNotFound) {
		return "", err
	}
	channel, err := s.Store.Channel(ctx, tenant, t.AgentID)
	return channel.Pause, err
}

// waiting returns the number of requests for approval that a person may decide.
func (s *Pages) waiting(ctx context.Context, who web.Session) (int, error) {
	if !who.Role.May(web.RoleApprover) {
		return 0, nil
	}
	all, err := s.Store.Approvals(ctx, who.Tenant)
	return campaign.Waiting(all, who.Email), err
}

func (s *Pages) budget(ctx context.Context, tenant string, a *attention) error {
	billing, err := s.Store.Billing(ctx, tenant)
	if err != nil || !billing.Limited() {
		return err
	}
	a.limits = billing.Limits
	a.used, err = s.Store.Spending(ctx, tenant, localtime.Day(s.Now()))
	return err
}

// noAgent is the pause of a tenant without an agent.
const noAgent = "no_agent"

// nearly is the part of a budget, in tenths, from which it is nearly used.
const nearly = 9

// alerts returns what needs attention, the most important first.
func (a attention) alerts() (alerts []alert) {
	switch a.pause {
	case "":
	case noAgent:
		alerts = append(alerts, alert{Key: noAgent})
	default:
		alerts = append(alerts, alert{Key: "paused"})
	}
	if a.waiting > 0 {
		alerts = append(alerts, alert{Key: "approvals", Path: web.Root + "/approvals", N: a.waiting})
	}
	const path = web.Root + "/settings/billing"
	near := func(used, limit campaign.Money) bool { return limit > 0 && used >= limit/10*nearly }
	if near(a.used.Day, a.limits.Day) {
		alerts = append(alerts, alert{Key: "budget_day", Path: path})
	}
	if near(a.used.Month, a.limits.Month) {
		alerts = append(alerts, alert{Key: "budget_month", Path: path})
	}
	return append(alerts, a.endpoints...)
}
