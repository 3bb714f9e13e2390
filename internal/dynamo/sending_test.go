package dynamo_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
)

func TestSwapPace(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	agent := "agent-" + rand.Text()
	first := campaign.Pace{Every: 10 * time.Millisecond, Next: later, SlowedAt: later.Add(-time.Second)}
	second := campaign.Pace{Every: 20 * time.Millisecond, Next: later}
	swaps := []struct {
		old, pace campaign.Pace
		want      bool
	}{
		{first, second, false}, // there is none yet
		{campaign.Pace{}, first, true},
		{campaign.Pace{}, second, false},
		{second, campaign.Pace{}, false},
		{first, second, true},
		{second, campaign.Pace{}, true},
		{campaign.Pace{}, first, true},
	}
	now := campaign.Pace{}
	for i, swap := range swaps {
		got, err := store.SwapPace(t.Context(), agent, swap.old, swap.pace)
		if err != nil {
			t.Fatal(err)
		}
		if got {
			now = swap.pace
		}
		pace, err := store.Pace(t.Context(), agent)
		if err != nil {
			t.Fatal(err)
		}
		if got != swap.want || pace != now {
			t.Errorf("swap %d: %v, want %v; the pace is %v, want %v", i, got, swap.want, pace, now)
		}
	}
}

func TestChannel(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	ctx := t.Context()
	tenant := campaign.Tenant{ID: "tenant-" + rand.Text(), Name: "A", AgentID: "agent-" + rand.Text()}
	agent := campaign.Agent{ID: tenant.AgentID, KeyParameter: "/key", WebhookToken: "token", Rate: 7}
	pace := campaign.Pace{Every: time.Second, Next: later}
	want := campaign.Channel{Agent: campaign.Agent{ID: agent.ID}, Pause: "no_agent"}
	steps := []struct {
		name string
		do   func() error
		then func()
	}{
		{"unknown agent", func() error { return nil }, func() {}},
		{"ready", func() error { return store.SaveAgent(ctx, agent) }, func() { want.Agent, want.Pause = agent, "" }},
		{"slow", func() error { _, err := store.SwapPace(ctx, agent.ID, campaign.Pace{}, pace); return err }, func() { want.Pace = pace }},
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
		got, err := store.Channel(ctx, tenant.ID, agent.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}
