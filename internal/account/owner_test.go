package account_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
)

func TestUseOf(t *testing.T) {
	t.Parallel()
	sent := func(agent string, closedAt time.Time) campaign.BatchProgress {
		return campaign.BatchProgress{Batch: campaign.Batch{AgentID: agent, ClosedAt: closedAt}}
	}
	first, last := time.Unix(1, 0), time.Unix(2, 0)
	use := account.UseOf([]campaign.BatchProgress{
		sent("a", last), sent("a", first), sent("a", time.Time{}), sent("b", time.Time{}), sent("b", time.Unix(3, 0)),
	}, "a")
	if want := (account.Use{Open: 1, ClosedAt: last}); use != want {
		t.Errorf("use %+v, want %+v", use, want)
	}
	if sum, want := use.Add(account.Use{Open: 2, ClosedAt: first}), (account.Use{Open: 3, ClosedAt: last}); sum != want {
		t.Errorf("sum %+v, want %+v", sum, want)
	}
}

// A released agent is free AgentRest after its last use by the former tenant.
func TestOwner_Refuse(t *testing.T) {
	t.Parallel()
	released := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	closed := released.Add(24 * time.Hour)
	of := func(tenant string, releasedAt time.Time) account.Owner {
		return account.Owner{AgentID: "agent", Tenant: tenant, ReleasedAt: releasedAt}
	}
	for name, test := range map[string]struct {
		owner account.Owner
		use   account.Use
		after time.Duration // since the release
		want  string        // part of the error, "" for none
	}{
		"no owner":              {owner: of("", time.Time{})},
		"own agent":             {owner: of("next", time.Time{})},
		"own released agent":    {owner: of("next", released)},
		"owned":                 {owner: of("former", time.Time{}), want: "belongs to tenant former"},
		"just released":         {owner: of("former", released), want: released.Add(account.AgentRest).Format(time.RFC3339)},
		"released for long":     {owner: of("former", released), after: account.AgentRest},
		"an open batch":         {owner: of("former", released), use: account.Use{Open: 1}, after: 10 * account.AgentRest, want: "1 open batches"},
		"a batch closed since":  {owner: of("former", released), use: account.Use{ClosedAt: closed}, after: account.AgentRest, want: closed.Add(account.AgentRest).Format(time.RFC3339)},
		"a batch closed before": {owner: of("former", released), use: account.Use{ClosedAt: closed}, after: account.AgentRest + 24*time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := test.owner.Refuse("next", released.Add(test.after), func(string) (account.Use, error) { return test.use, nil })
			if _, taken := errors.AsType[*account.AgentTakenError](err); taken != (test.want != "") || taken && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one that says %q", err, test.want)
			}
		})
	}
}
