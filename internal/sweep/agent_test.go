package sweep_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/send/outgoing"
)

// moveTenant assigns another agent to the tenant.
func (w *pipeline) moveTenant() (former, present string) {
	w.t.Helper()
	former, present = w.agent, "agent-"+rand.Text()
	w.must(w.store.SaveAgent(w.t.Context(), campaign.Agent{ID: present}))
	w.must(w.store.SaveTenant(w.t.Context(), campaign.Tenant{ID: w.tenant, AgentID: present}, nil))
	return former, present
}

func TestSend_AgentChangedAfterRelease(t *testing.T) {
	t.Parallel()
	w := withEndpoints(newPipeline(t))
	w.provider.answers = false
	failing := true
	w.provider.refuse = func(outgoing.Message) error {
		if failing {
			return &outgoing.Failure{Kind: outgoing.Transient, Code: "unavailable"}
		}
		return nil
	}
	b := w.accept(103)
	scheduled := w.accept(3, func(b *campaign.Batch) {
		b.Due = b.Due.Add(10 * time.Hour)
		b.NextCheck = b.Due
	})
	w.handOff(b)
	w.run(b, 3*time.Minute) // released, and repeatedly throttled
	former, present := w.moveTenant()
	w.must(w.store.Pause(t.Context(), "agent#"+present)) // pause of another agent
	w.run(b, 3*time.Minute)
	failing = false
	w.run(b, time.Hour)
	if diff := cmp.Diff([]string{former}, keys(w.provider.agents)); diff != "" {
		t.Fatalf("agents of all attempts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"sent ": 103}, w.outcomes(b)); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}

	w.event(reaction.EventTask{Kind: reaction.EventRead, MessageID: b.Key.MessageID(0), AgentID: present})
	w.event(reaction.EventTask{Kind: reaction.EventRead, MessageID: b.Key.MessageID(1), AgentID: former})
	w.deliver(w.events, w.applier(), 10)
	if diff := cmp.Diff(map[string]int{"sent ": 102, "read ": 1}, w.outcomes(b)); diff != "" || len(w.events.held) > 0 {
		t.Errorf("%d events are retried; outcomes (-want +got):\n%s", len(w.events.held), diff)
	}

	w.must(w.store.Resume(t.Context(), "agent#"+present))
	w.provider.agents = nil
	w.run(scheduled, 12*time.Hour)
	if diff := cmp.Diff([]string{present}, keys(w.provider.agents)); diff != "" {
		t.Errorf("agents of a batch released after the change (-want +got):\n%s", diff)
	}
	w.provider.agents = nil
	w.cancel(b, "?revoke=true")
	w.settle(time.Hour)
	if diff := cmp.Diff([]string{former}, keys(w.provider.agents)); diff != "" {
		t.Errorf("agents of the revocations (-want +got):\n%s", diff)
	}
}

func TestPause_FormerAgent(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	b := w.accept(103)
	w.must(w.store.Pause(t.Context(), "agent#"+w.agent))
	w.handOff(b)
	w.run(b, 10*time.Minute)
	former, _ := w.moveTenant()
	w.run(b, time.Hour)
	if w.provider.calls > 0 {
		t.Errorf("%d messages were sent despite the pause", w.provider.calls)
	}
	w.must(w.store.Resume(t.Context(), "agent#"+former))
	w.run(b, time.Hour)
	w.checkSent(b)
}

func keys(m map[string]int) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	return names
}
