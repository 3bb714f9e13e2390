package dynamo_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/app/settingsstore"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/settings"
	"campaign-dispatch/localstack/stackenv"
)

// agency is a store with a test clock and one agent.
type agency struct {
	*dynamotest.Store
	t     *testing.T
	now   time.Time
	agent string
}

func newAgency(t *testing.T) *agency {
	t.Helper()
	env := stackenv.Load(t)
	a := &agency{t: t, now: adminNow, agent: "agent-" + rand.Text()}
	a.Store = dynamotest.New(dynamo.Tables{
		Client: dynamodb.NewFromConfig(env.AWS()), Auth: env["AUTH_TABLE"],
		Campaigns: env.OwnTable(t, env["CAMPAIGNS_TABLE"]), Outcomes: env["OUTCOMES_TABLE"], // the stack's own sweep would delete batches
		Now: func() time.Time { return a.now },
	})
	return a
}

func (a *agency) tenant() string { return "tenant-" + rand.Text() }

func (a *agency) assign(tenant, agent string) error {
	return a.SaveTenant(a.t.Context(), campaign.Tenant{ID: tenant, AgentID: agent}, (&settings.Service{Store: settingsstore.New(dynamo.New(a.Tables()))}).AgentUse)
}

func (a *agency) must(errs ...error) {
	a.t.Helper()
	for _, err := range errs {
		if err != nil {
			a.t.Fatal(err)
		}
	}
}

// refuses checks that the agent is refused with a one-line reason and that the tenant is
// unchanged.
func (a *agency) refuses(tenant, agent, says string) {
	a.t.Helper()
	before, _ := a.Tenant(a.t.Context(), tenant)
	err := a.assign(tenant, agent)
	if _, ok := errors.AsType[*account.AgentTakenError](err); !ok || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
		a.t.Errorf("error %v, want one that says %q", err, says)
	}
	if after, _ := a.Tenant(a.t.Context(), tenant); after != before {
		a.t.Errorf("the tenant is %+v, was %+v", after, before)
	}
}

func (a *agency) wantOwner(want account.Owner) {
	a.t.Helper()
	want.AgentID = a.agent
	got, err := a.Owner(a.t.Context(), a.agent)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		a.t.Errorf("%v; owner (-want +got):\n%s", err, diff)
	}
}

func (a *agency) hears(want string) {
	a.t.Helper()
	if got, err := a.TenantOf(a.t.Context(), a.agent); got != want || err != nil {
		a.t.Errorf("tenant %q gets replies, want %q; %v", got, want, err)
	}
}

func TestSaveTenant_AgentTaken(t *testing.T) {
	t.Parallel()
	a := newAgency(t)
	owner, other := a.tenant(), a.tenant()
	a.must(a.assign(owner, a.agent), a.assign(owner, a.agent), a.assign(other, "agent-"+rand.Text()))
	a.refuses(a.tenant(), a.agent, "belongs to tenant "+owner)
	a.refuses(other, a.agent, "belongs to tenant "+owner)
	a.wantOwner(account.Owner{Tenant: owner, Since: a.now})
	a.hears(owner)
}

func TestSaveTenant_ConcurrentTenants(t *testing.T) {
	t.Parallel()
	for range 5 {
		a := newAgency(t)
		tenants := make([]string, 8)
		errs := make([]error, len(tenants))
		var group sync.WaitGroup
		for i := range tenants {
			tenants[i] = a.tenant()
			group.Go(func() { errs[i] = a.assign(tenants[i], a.agent) })
		}
		group.Wait()
		var winners []string
		for i, err := range errs {
			if err == nil {
				winners = append(winners, tenants[i])
				continue
			}
			if _, ok := errors.AsType[*account.AgentTakenError](err); !ok {
				t.Errorf("a loser got %v", err)
			}
			if _, err := a.Tenant(t.Context(), tenants[i]); !errors.Is(err, campaign.ErrNotFound) {
				t.Errorf("a loser was written: %v", err)
			}
		}
		if len(winners) != 1 {
			t.Fatalf("%d tenants got the agent", len(winners))
		}
		a.hears(winners[0])
	}
}

// Two operators concurrently assign two agents to one tenant: it gets one of them, and the
// others are released.
func TestSaveTenant_ConcurrentAgents(t *testing.T) {
	t.Parallel()
	a := newAgency(t)
	tenant, agents := a.tenant(), []string{a.agent}
	a.must(a.assign(tenant, a.agent))
	var group sync.WaitGroup
	for range 6 {
		agent := "agent-" + rand.Text()
		agents = append(agents, agent)
		group.Go(func() {
			if err := a.assign(tenant, agent); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	present, err := a.Tenant(t.Context(), tenant)
	a.must(err)
	for _, agent := range agents {
		o, err := a.Owner(t.Context(), agent)
		a.must(err)
		if o.Tenant != tenant || o.ReleasedAt.IsZero() != (agent == present.AgentID) {
			t.Errorf("owner of %s is %+v, the tenant's agent is %s", agent, o, present.AgentID)
		}
	}
}

func TestSaveTenant_ReleasedAgent(t *testing.T) {
	t.Parallel()
	a := newAgency(t)
	former, next, began := a.tenant(), a.tenant(), a.now
	a.must(a.assign(former, a.agent), a.assign(former, "agent-"+rand.Text()))
	a.wantOwner(account.Owner{Tenant: former, Since: began, ReleasedAt: began})
	a.hears(former)
	a.now = began.Add(account.AgentRest - time.Millisecond)
	a.refuses(next, a.agent, began.Add(account.AgentRest).Format(time.RFC3339))

	a.must(a.assign(former, a.agent)) // it can be reassigned to its former tenant at any time
	a.wantOwner(account.Owner{Tenant: former, Since: began})
	a.now = a.now.Add(10 * account.AgentRest)
	a.refuses(next, a.agent, "belongs to tenant "+former)

	a.must(a.assign(former, "agent-"+rand.Text()))
	a.now = a.now.Add(account.AgentRest)
	a.must(a.assign(next, a.agent))
	a.wantOwner(account.Owner{Tenant: next, Since: a.now})
	a.hears(next)
	a.refuses(former, a.agent, "belongs to tenant "+next)
}

// batch accepts a batch as one of more campaigns than fit on a page.
func (a *agency) batch(tenant string, state campaign.BatchState, agent string) campaign.Batch {
	a.t.Helper()
	b := newBatch(tenant, state, a.now, a.now)
	b.AgentID, b.AcceptedAt = agent, a.now
	accept(a.t, a.Store, b)
	return b
}

func TestSaveTenant_AgentWithOpenBatches(t *testing.T) {
	t.Parallel()
	a := newAgency(t)
	former, next := a.tenant(), a.tenant()
	a.must(a.assign(former, a.agent))
	open := a.batch(former, campaign.BatchSending, a.agent)
	a.must(a.assign(former, "agent-"+rand.Text()))
	for range 205 { // more campaigns than fit on two pages, all newer
		a.now = a.now.Add(time.Millisecond)
		a.batch(former, campaign.BatchSent, "another")
	}
	a.now = a.now.Add(3 * account.AgentRest)
	a.refuses(next, a.agent, "1 open batches with it")
	if _, err := a.CompleteBatch(t.Context(), open, 0, a.now); err != nil {
		t.Fatal(err)
	}
	closed := a.now
	a.now = closed.Add(account.AgentRest - time.Millisecond)
	a.refuses(next, a.agent, closed.Add(account.AgentRest).Format(time.RFC3339))
	a.now = closed.Add(account.AgentRest)
	a.must(a.assign(next, a.agent))
	a.hears(next)
}

// While a tenant is assigned a released agent, it gets another agent, and its own one goes to a
// third tenant: the assignment starts again from what the others left.
func TestSaveTenant_AgentGoneMeanwhile(t *testing.T) {
	t.Parallel()
	a := newAgency(t)
	former, tenant, third, released := a.tenant(), a.tenant(), a.tenant(), "agent-"+rand.Text()
	a.must(a.assign(former, released), a.assign(former, "agent-"+rand.Text()), a.assign(tenant, a.agent))
	a.now = a.now.Add(account.AgentRest)
	var once sync.Once
	err := a.SaveTenant(t.Context(), campaign.Tenant{ID: tenant, AgentID: released}, func(context.Context, string, string) (account.Use, error) {
		once.Do(func() { //nolint:contextcheck // assign uses the context of the test
			a.must(a.assign(tenant, "agent-"+rand.Text()))
			a.now = a.now.Add(account.AgentRest)
			a.must(a.assign(third, a.agent))
		})
		return account.Use{}, nil
	})
	a.must(err)
	a.wantOwner(account.Owner{Tenant: third, Since: a.now})
	if now, err := a.Tenant(t.Context(), tenant); now.AgentID != released || err != nil {
		t.Errorf("the tenant has %q, want %q; %v", now.AgentID, released, err)
	}
}

func TestAgentsOf_PresentAndReleased(t *testing.T) {
	t.Parallel()
	a := newAgency(t)
	tenant := a.tenant()
	a.must(a.assign(tenant, a.agent), a.SaveAgent(t.Context(), campaign.Agent{ID: a.agent}))
	a.hears(tenant)
	next := "agent-" + rand.Text()
	a.must(a.assign(tenant, next), a.SaveAgent(t.Context(), campaign.Agent{ID: next}))
	got, err := a.AgentsOf(t.Context(), tenant)
	if want := map[string]bool{a.agent: true, next: true}; err != nil || len(got) != 2 || !want[got[0]] || !want[got[1]] {
		t.Errorf("agents %v, %v", got, err)
	}
}
