package overview

import (
	"context"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/webhook/delivery"
)

// alert is something that needs attention. Its texts are "overview.alert." and its key.
type alert struct {
	Key  string
	Name string // of a campaign or an endpoint, or an amount
	Path string // "" for none
	N    int    // things that wait, 0 for none
	Of   int    // of how many
	At   time.Time
	Link string // key of the link's text, "" for the name
}

// endpoints returns alerts for those that the service has disabled, or that keep failing.
func endpoints(all []delivery.WatchedEndpoint) (alerts []alert) {
	for _, e := range all {
		name, _ := web.Address(e.URL)
		one := alert{Name: name, Path: web.Root + "/settings/webhooks/" + e.ID}
		switch {
		case e.Off():
			one.Key = "endpoint_off"
		case e.Circuit.Open():
			one.Key = "endpoint_failing"
		default:
			continue
		}
		alerts = append(alerts, one)
	}
	return alerts
}

// decisions are what waits for people.
type decisions struct {
	approvals int           // that the person may decide
	waves     []campaign.ID // campaigns whose next wave waits
}

// decisions returns what waits for people. A viewer decides nothing, and has none.
func (s *Pages) decisions(ctx context.Context, who web.Session) (d decisions, err error) {
	approves := who.Role.May(web.RoleApprover)
	if !approves && !who.Role.May(web.RoleAuthor) {
		return d, nil
	}
	all, err := s.Store.Submissions(ctx, who.Tenant)
	for _, sub := range all {
		if sub.State == submission.StateHolding {
			d.waves = append(d.waves, sub.ID)
		}
	}
	if approves {
		d.approvals = submission.ToDecide(all, who.Email)
	}
	return d, err
}

// maxDoubts is the number of replies from which the page does not count them.
const maxDoubts = 100

// ofDoubts returns the alert for replies that may be opt-outs, if there are any.
func ofDoubts(doubts int) []alert {
	one := alert{Key: "doubts", Path: web.Root + "/people/replies", N: doubts, Link: "read"}
	switch doubts {
	case 0:
		return nil
	case maxDoubts:
		one.Key, one.N = "doubts_many", 0
	}
	return []alert{one}
}

// noAgent is the pause of a tenant without an agent.
const noAgent = "no_agent"

// nearly is the part of a budget, in tenths, from which it is nearly used.
const nearly = 9

// alerts returns what needs attention, the most important first.
func alerts(a account.Attention, watched []delivery.WatchedEndpoint, toDecide, doubts int) (alerts []alert) {
	switch a.Pause {
	case "":
	case noAgent:
		alerts = append(alerts, alert{Key: noAgent})
	default:
		alerts = append(alerts, alert{Key: "paused"})
	}
	if toDecide > 0 {
		alerts = append(alerts, alert{Key: "approvals", Path: web.Root + "/approvals", N: toDecide, Link: "decide"})
	}
	alerts = append(alerts, ofDoubts(doubts)...)
	const path = web.Root + "/settings/billing"
	near := func(used, limit campaign.Money) bool { return limit > 0 && used >= limit/10*nearly }
	if near(a.Used.Day, a.Limits.Day) {
		alerts = append(alerts, alert{Key: "budget_day", Path: path, Link: "see"})
	}
	if near(a.Used.Month, a.Limits.Month) {
		alerts = append(alerts, alert{Key: "budget_month", Path: path, Link: "see"})
	}
	return append(alerts, endpoints(watched)...)
}
