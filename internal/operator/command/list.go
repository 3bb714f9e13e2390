package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
)

func listCommand(flags *flag.FlagSet) action {
	tenant := flags.String("tenant", "", "`ID` of the tenant whose templates, credentials and endpoints are shown")
	return func(ctx context.Context, s *stack) (answer, error) {
		if *tenant == "" {
			return s.listAll(ctx)
		}
		return s.listTenant(ctx, *tenant)
	}
}

func (s *stack) listAll(ctx context.Context) (answer, error) {
	tenants, err := s.store.Tenants(ctx)
	if err != nil {
		return answer{}, err
	}
	agents, err := s.store.Agents(ctx)
	if err != nil {
		return answer{}, err
	}
	owners, err := s.store.Owners(ctx, agents)
	if err != nil {
		return answer{}, err
	}
	pauses, err := s.store.Pauses(ctx)
	if err != nil {
		return answer{}, err
	}
	var t, a, p, r section
	for _, tenant := range tenants {
		t.add(row{{"id", tenant.ID}, {"name", tenant.Name}, {"agentId", tenant.AgentID}})
	}
	for _, agent := range agents {
		a.add(row{{"id", agent.ID}, {"rate", agent.Rate}, {"keyParameter", agent.KeyParameter}, {"tenant", belongsTo(owners[agent.ID])}, {"status", agentStatus(agent)}})
	}
	r.add(row{{"sum", campaign.MostRates(agents)}, {"sendRate", s.service.SendRate}, {"agentRate", max(s.service.AgentRate, 0)}})
	if err := s.addPausedCampaigns(ctx, tenants, pauses); err != nil {
		return answer{}, err
	}
	for _, subject := range slices.Sorted(maps.Keys(pauses)) {
		p.add(row{{"subject", strings.ReplaceAll(subject, "#", " ")}, {"since", localtime.FormatUTC(pauses[subject])}})
	}
	next := s.next("list", "tenant", "ID") + " shows the resources of a tenant"
	if len(tenants) == 0 {
		next = s.next("tenant", "id", "acme", "name", "Acme", "agent-id", "ID", "key-file", "key.json")
	}
	return sections(next, named{"tenants", t}, named{"agents", a}, named{"rates", r}, named{"pauses", p}), nil
}

// addPausedCampaigns adds the paused campaigns of the tenants to the other pauses.
func (s *stack) addPausedCampaigns(ctx context.Context, tenants []campaign.Tenant, pauses map[string]time.Time) error {
	campaigns, err := s.store.PausedCampaigns(ctx, tenants)
	for id, since := range campaigns {
		pauses[campaign.PauseSubject(id)] = since
	}
	return err
}

func agentStatus(a campaign.Agent) string {
	if a.RemovedAt.IsZero() {
		return "active"
	}
	return "removed " + localtime.FormatUTC(a.RemovedAt)
}

func belongsTo(o account.Owner) string {
	switch {
	case o.Tenant == "":
		return "none"
	case !o.ReleasedAt.IsZero():
		return o.Tenant + " (until " + localtime.FormatUTC(o.ReleasedAt) + ")"
	}
	return o.Tenant
}

func (s *stack) listTenant(ctx context.Context, id string) (answer, error) {
	tenant, err := s.store.Tenant(ctx, id)
	if errors.Is(err, campaign.ErrNotFound) {
		return answer{}, fmt.Errorf("tenant %s not found: %s shows all, %s creates it", id, s.next("list"), s.next("tenant", "id", id))
	}
	if err != nil {
		return answer{}, err
	}
	templates, err := s.store.Templates(ctx, id)
	if err != nil {
		return answer{}, err
	}
	credentials, err := s.auth.Credentials(ctx, id)
	if err != nil {
		return answer{}, err
	}
	endpoints, err := s.store.Endpoints(ctx, id)
	if err != nil {
		return answer{}, err
	}
	hours, err := s.sendingHours(ctx, id)
	if err != nil {
		return answer{}, err
	}
	var tenants, t, c, e section
	tenants.add(row{{"id", tenant.ID}, {"name", tenant.Name}, {"agentId", tenant.AgentID}})
	for _, template := range templates {
		t.add(row{{"id", template.ID}, {"name", template.Name}, {"version", template.Version}})
	}
	for _, credential := range credentials {
		c.add(row{
			{"clientId", credential.ClientID},
			{"name", credential.Name},
			{"created", localtime.FormatUTC(credential.CreatedAt)},
			{"status", s.status(credential)},
		})
	}
	for _, endpoint := range endpoints {
		health, err := s.health(ctx, endpoint)
		if err != nil {
			return answer{}, err
		}
		e.add(row{{"id", endpoint.ID}, {"url", endpoint.URL}, {"kinds", kindNames(endpoint.Kinds)}, {"status", health}})
	}
	next := s.next("credential", "tenant", id) + " creates a credential"
	return sections(next, named{"tenants", tenants}, named{"templates", t}, named{"credentials", c}, named{"endpoints", e},
		named{"sendingHours", hours}), nil
}

// sendingHours lists the rules of a tenant by traffic type.
func (s *stack) sendingHours(ctx context.Context, tenant string) (all section, err error) {
	p, err := s.store.TenantHours(ctx, tenant)
	for _, t := range slices.Sorted(maps.Keys(p.Rules)) {
		holidays := "open"
		if p.Rules[t].OffHolidays {
			holidays = "closed"
		}
		all.add(row{{"traffic", string(t)}, {"hours", p.Rules[t].String()}, {"holidays", holidays}})
	}
	return all, err
}

func (s *stack) status(c account.Credential) string {
	switch {
	case c.Revoked():
		return "revoked " + localtime.FormatUTC(c.RevokedAt)
	case s.service.Now().Before(c.PreviousUntil):
		return "active, previous secret until " + localtime.FormatUTC(c.PreviousUntil)
	}
	return "active"
}
