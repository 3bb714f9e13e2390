package dynamo_test

import (
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/localstack/stackenv"
)

// agency is a store with a test clock and one agent.
type agency struct {
	*dynamo.CampaignStore
	t     *testing.T
	now   time.Time
	agent string
}

func newAgency(t *testing.T) *agency {
	t.Helper()
	env := stackenv.Load(t)
	a := &agency{t: t, now: adminNow, agent: "agent-" + rand.Text()}
	a.CampaignStore = dynamo.NewCampaignStore(dynamo.Tables{
		Client: dynamodb.NewFromConfig(env.AWS()), Auth: env["AUTH_TABLE"],
		Campaigns: env.OwnTable(t, env["CAMPAIGNS_TABLE"]), // the stack's own sweep would delete batches
		Now:       func() time.Time { return a.now },
	})
	return a
}

func (a *agency) tenant() string { return "tenant-" + rand.Text() }

func (a *agency) assign(tenant, agent string) error {
	return a.SaveTenant(a.t.Context(), campaign.Tenant{ID: tenant, AgentID: agent})
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
	if _, ok := errors.AsType[*campaign.AgentTakenError](err); !ok || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
		a.t.Errorf("error %v, want one that says %q", err, says)
	}
	if after, _ := a.Tenant(a.t.Context(), tenant); after != before {
		a.t.Errorf("the tenant is %+v, was %+v", after, before)
	}
}

func (a *agency) wantTenants(want campaign.AgentTenants) {
	a.t.Helper()
	want.AgentID = a.agent
	got, err := a.AgentTenants(a.t.Context(), a.agent)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		a.t.Errorf("%v; tenants (-want +got):\n%s", err, diff)
	}
}

func (a *agency) hears(want ...string) {
	a.t.Helper()
	got, err := a.TenantsOf(a.t.Context(), a.agent)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		a.t.Errorf("%v; tenants that get replies (-want +got):\n%s", err, diff)
	}
}

// share writes rows like the former version, for tenants that share an agent.
func (a *agency) share(tenants ...string) {
	a.t.Helper()
	for _, tenant := range tenants {
		for _, row := range []dynamo.Item{
			{"pk": textOf("TEN#" + tenant), "sk": textOf("TENANT"), "name": textOf("n"), "agentId": textOf(a.agent)},
			{"pk": textOf("A#" + a.agent), "sk": textOf("TENANT#" + tenant)},
		} {
			_, err := a.Client.PutItem(a.t.Context(), &dynamodb.PutItemInput{TableName: &a.Campaigns, Item: row})
			a.must(err)
		}
	}
}

func TestSaveTenant_AgentTaken(t *testing.T) {
	t.Parallel()
	a := newAgency(t)
	owner, other := a.tenant(), a.tenant()
	a.must(a.assign(owner, a.agent), a.assign(owner, a.agent), a.assign(other, "agent-"+rand.Text()))
	a.refuses(a.tenant(), a.agent, "belongs to tenant "+owner)
	a.refuses(other, a.agent, "belongs to tenant "+owner)
	a.wantTenants(campaign.AgentTenants{Owner: &campaign.Owner{Tenant: owner, Since: a.now}, All: []campaign.AgentTenant{{Tenant: owner}}})
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
			if _, ok := errors.AsType[*campaign.AgentTakenError](err); !ok {
				t.Errorf("a loser got %v", err)
			}
			if _, err := a.Tenant(t.Context(), tenants[i]); !errors.Is(err, campaign.ErrNotFound) {
				t.Errorf("a loser was written: %v", err)
			}
		}
		if len(winners) != 1 {
			t.Fatalf("%d tenants got the agent", len(winners))
		}
		a.hears(winners...)
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
		h, err := a.AgentTenants(t.Context(), agent)
		a.must(err)
		if !h.OwnedBy(tenant) || h.Owner.GivenUpAt.IsZero() != (agent == present.AgentID) {
			t.Errorf("owner of %s is %+v, the tenant's agent is %s", agent, h.Owner, present.AgentID)
		}
	}
}

func TestSaveTenant_ReleasedAgent(t *testing.T) {
	t.Parallel()
	a := newAgency(t)
	former, next, began := a.tenant(), a.tenant(), a.now
	a.must(a.assign(former, a.agent), a.assign(former, "agent-"+rand.Text()))
	a.wantTenants(campaign.AgentTenants{
		Owner: &campaign.Owner{Tenant: former, Since: began, GivenUpAt: began},
		All:   []campaign.AgentTenant{{Tenant: former, GivenUpAt: began}},
	})
	a.hears(former)
	a.now = began.Add(campaign.AgentRest - time.Millisecond)
	a.refuses(next, a.agent, began.Add(campaign.AgentRest).Format(time.RFC3339))

	a.must(a.assign(former, a.agent)) // it can be reassigned to its former tenant at any time
	a.wantTenants(campaign.AgentTenants{Owner: &campaign.Owner{Tenant: former, Since: began}, All: []campaign.AgentTenant{{Tenant: former}}})
	a.now = a.now.Add(10 * campaign.AgentRest)
	a.refuses(next, a.agent, "belongs to tenant "+former)

	a.must(a.assign(former, "agent-"+rand.Text()))
	a.now = a.now.Add(campaign.AgentRest)
	a.must(a.assign(next, a.agent))
	a.wantTenants(campaign.AgentTenants{Owner: &campaign.Owner{Tenant: next, Since: a.now}, All: []campaign.AgentTenant{{Tenant: next}}})
	a.hears(next)
	a.refuses(former, a.agent, "belongs to tenant "+next)
}

// batch accepts a batch as one of more campaigns than fit on a page.
func (a *agency) batch(tenant string, state campaign.BatchState, agent string) campaign.Batch {
	a.t.Helper()
	b := newBatch(tenant, state, a.now, a.now)
	b.AgentID, b.AcceptedAt = agent, a.now
	accept(a.t, a.CampaignStore, b)
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
	a.now = a.now.Add(3 * campaign.AgentRest)
	a.refuses(next, a.agent, "1 open batches with it")
	if _, err := a.CompleteBatch(t.Context(), open.BatchRef, a.now); err != nil {
		t.Fatal(err)
	}
	closed := a.now
	a.now = closed.Add(campaign.AgentRest - time.Millisecond)
	a.refuses(next, a.agent, closed.Add(campaign.AgentRest).Format(time.RFC3339))
	a.now = closed.Add(campaign.AgentRest)
	a.must(a.assign(next, a.agent))
	a.hears(next)
}

// The former version did not record when a batch was closed. The row of its campaign does.
func TestSaveTenant_BatchClosedByFormerVersion(t *testing.T) {
	t.Parallel()
	a := newAgency(t)
	former, next := a.tenant(), a.tenant()
	a.must(a.assign(former, a.agent))
	b := a.batch(former, campaign.BatchSent, a.agent)
	a.must(a.assign(former, "agent-"+rand.Text()))
	a.now = a.now.Add(time.Hour)
	_, err := a.CompleteBatch(t.Context(), b.BatchRef, a.now)
	a.must(err)
	remove := "REMOVE closedAt"
	_, err = a.Client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: &a.Campaigns, UpdateExpression: &remove,
		Key: dynamo.Item{"pk": textOf("C#" + b.Tenant + "#" + b.CampaignID), "sk": textOf("BATCH#" + b.BatchID)},
	})
	a.must(err)
	a.now = a.now.Add(campaign.AgentRest - time.Minute)
	a.refuses(next, a.agent, "events of its messages can arrive")
	a.now = a.now.Add(time.Minute)
	a.must(a.assign(next, a.agent))
}

// A batch released by the former version has no agent. The tenant's change of agent records
// it.
func TestSaveTenant_RecordsAgentOfOpenBatches(t *testing.T) {
	t.Parallel()
	a := newAgency(t)
	tenant := a.tenant()
	a.must(a.assign(tenant, a.agent))
	sent, completed := a.batch(tenant, campaign.BatchSent, ""), a.batch(tenant, campaign.BatchCompleted, "")
	pending := a.batch(tenant, campaign.BatchPending, "")
	a.must(a.assign(tenant, "agent-"+rand.Text()))
	for b, want := range map[*campaign.Batch]string{&sent: a.agent, &completed: a.agent, &pending: ""} {
		if got, err := a.Batch(t.Context(), b.BatchRef); got.AgentID != want || err != nil {
			t.Errorf("%s batch: agent %q, want %q; %v", b.State, got.AgentID, want, err)
		}
	}
}

func TestSaveTenant_SharedAgent(t *testing.T) {
	t.Parallel()
	a := newAgency(t)
	one, two, three := "a-"+a.tenant(), "b-"+a.tenant(), a.tenant()
	a.share(one, two)
	both := []campaign.AgentTenant{{Tenant: one}, {Tenant: two}}
	a.must(a.assign(one, a.agent), a.assign(two, a.agent)) // both keep it
	a.wantTenants(campaign.AgentTenants{All: both})
	a.refuses(three, a.agent, "shared by several tenants ("+one+", "+two+")")

	left := a.now
	a.must(a.assign(one, "agent-"+rand.Text()))
	a.refuses(three, a.agent, "shared by several tenants")
	a.hears(one, two)
	a.must(a.assign(one, a.agent))
	a.wantTenants(campaign.AgentTenants{All: both}) // it was reassigned

	a.must(a.assign(one, "agent-"+rand.Text()))
	a.now = left.Add(campaign.AgentRest)
	a.hears(two)
	a.refuses(one, a.agent, "belongs to tenant "+two)
	a.must(a.assign(two, a.agent)) // no longer shared
	a.wantTenants(campaign.AgentTenants{Owner: &campaign.Owner{Tenant: two, Since: a.now}, All: []campaign.AgentTenant{{Tenant: two}}})
	a.refuses(one, a.agent, "belongs to tenant "+two)
}

// A tenant of the former version becomes the owner of its agent with the next save, and
// cannot lose it before that.
func TestSaveTenant_AgentOfFormerVersion(t *testing.T) {
	t.Parallel()
	a := newAgency(t)
	tenant := a.tenant()
	a.share(tenant)
	a.hears(tenant)
	a.refuses(a.tenant(), a.agent, "belongs to tenant "+tenant)
	a.must(a.assign(tenant, a.agent))
	a.wantTenants(campaign.AgentTenants{Owner: &campaign.Owner{Tenant: tenant, Since: a.now}, All: []campaign.AgentTenant{{Tenant: tenant}}})

	moved := newAgency(t)
	moved.share(tenant)
	a.must(moved.assign(tenant, "agent-"+rand.Text())) // without a save in between
	moved.wantTenants(campaign.AgentTenants{
		Owner: &campaign.Owner{Tenant: tenant, Since: moved.now, GivenUpAt: moved.now},
		All:   []campaign.AgentTenant{{Tenant: tenant, GivenUpAt: moved.now}},
	})
}

// The former version finds an agent's tenants only by their rows.
func TestTenantsOf_OwnerRow(t *testing.T) {
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
