package dynamo_test

import (
	"crypto/rand"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/send/outgoing"
)

func TestSwapRateLimit(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	agent := "agent-" + rand.Text()
	first := outgoing.RateLimit{Every: 10 * time.Millisecond, Next: later, SlowedAt: later.Add(-time.Second)}
	second := outgoing.RateLimit{Every: 20 * time.Millisecond, Next: later}
	shared, sharedByMore := second, second
	shared.Lanes, sharedByMore.Lanes = "\x01\x00\xff", "\x01\x02"
	swaps := []struct {
		old, rateLimit outgoing.RateLimit
		want           bool
	}{
		{first, second, false}, // there is none yet
		{outgoing.RateLimit{}, first, true},
		{outgoing.RateLimit{}, second, false},
		{second, outgoing.RateLimit{}, false},
		{first, second, true},
		{second, outgoing.RateLimit{}, true},
		{outgoing.RateLimit{}, first, true},
		{first, shared, true},
		{second, first, false},       // it has lanes
		{sharedByMore, first, false}, // and others
		{shared, sharedByMore, true},
		{shared, second, false},
		{sharedByMore, second, true},
		{sharedByMore, shared, false},
	}
	now := outgoing.RateLimit{}
	for i, swap := range swaps {
		got, err := store.SwapRateLimit(t.Context(), agent, swap.old, swap.rateLimit)
		if err != nil {
			t.Fatal(err)
		}
		if got {
			now = swap.rateLimit
		}
		rateLimit, err := store.RateLimit(t.Context(), agent)
		if err != nil {
			t.Fatal(err)
		}
		if got != swap.want || rateLimit != now {
			t.Errorf("swap %d: %v, want %v; the rate limit is %v, want %v", i, got, swap.want, rateLimit, now)
		}
	}
}

// A hundred functions that claim concurrently get consecutive reservations, and distinct
// positions once the row is full.
func TestSwapRateLimit_Concurrent(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	const functions, rate = 100, 50
	agent, now := "agent-"+rand.Text(), time.Now().Truncate(time.Millisecond)
	grants := make([]outgoing.Grant, functions)
	var running sync.WaitGroup
	for i := range functions {
		running.Go(func() {
			claim := outgoing.Claim{ID: campaign.ID{Tenant: "t", CampaignID: strconv.Itoa(i % 3)}, Messages: 10}
			swapped := false
			for try := 0; !swapped; try++ {
				if err := retry.Wait(t.Context(), try); err != nil {
					t.Error(err)
					return
				}
				old, err := store.RateLimit(t.Context(), agent)
				if err != nil {
					t.Error(err)
					return
				}
				var rateLimit outgoing.RateLimit
				grants[i], rateLimit = old.Claim(now, claim, rate)
				if swapped, err = store.SwapRateLimit(t.Context(), agent, old, rateLimit); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	running.Wait()
	turns, tickets := map[time.Time]bool{}, map[outgoing.Ticket]bool{}
	for _, grant := range grants {
		if grant.Wait > 0 {
			tickets[grant.Ticket] = true
		} else {
			turns[grant.Reservation.Start] = true
		}
	}
	if len(turns)+len(tickets) != functions || len(turns) < 15 {
		t.Errorf("%d functions got %d reservations and %d tickets", functions, len(turns), len(tickets))
	}
	rateLimit, err := store.RateLimit(t.Context(), agent)
	if want := now.Add(time.Duration(len(turns)) * 10 * time.Second / rate); err != nil || !rateLimit.Next.Equal(want) {
		t.Errorf("the next reservation begins at %v, %v; want %v", rateLimit.Next, err, want)
	}
}

func TestChannel(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	ctx := t.Context()
	tenant := campaign.Tenant{ID: "tenant-" + rand.Text(), Name: "A", AgentID: "agent-" + rand.Text()}
	agent := campaign.Agent{ID: tenant.AgentID, KeyParameter: "/key", WebhookToken: "token", Rate: 7}
	rateLimit := outgoing.RateLimit{Every: time.Second, Next: later}
	want := outgoing.Route{Agent: campaign.Agent{ID: agent.ID}, Pause: "no_agent"}
	steps := []struct {
		name string
		do   func() error
		then func()
	}{
		{"unknown agent", func() error { return nil }, func() {}},
		{"ready", func() error { return store.SaveAgent(ctx, agent) }, func() { want.Agent, want.Pause = agent, "" }},
		{"slow", func() error {
			_, err := store.SwapRateLimit(ctx, agent.ID, outgoing.RateLimit{}, rateLimit)
			return err
		}, func() { want.RateLimit = rateLimit }},
		{"agent paused", func() error { return store.Pause(ctx, "agent#"+agent.ID) }, func() { want.Pause = "agent" }},
		{"tenant paused", func() error { return store.Pause(ctx, "tenant#"+tenant.ID) }, func() { want.Pause = "tenant" }},
		{"tenant resumed", func() error { return store.Resume(ctx, "tenant#"+tenant.ID) }, func() { want.Pause = "agent" }},
		{"agent resumed", func() error { return store.Resume(ctx, "agent#"+agent.ID) }, func() { want.Pause = "" }},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		step.then()
		got, err := store.Route(ctx, tenant.ID, agent.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
		own, err := store.OwnRoute(ctx, tenant.ID, agent.ID)
		if diff := cmp.Diff(want, own); diff != "" || err != nil {
			t.Errorf("%s: own route: %v (-want +got):\n%s", step.name, err, diff)
		}
	}
}
