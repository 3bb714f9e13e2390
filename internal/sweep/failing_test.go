package sweep_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/send/outgoing"
	"campaign-dispatch/internal/sweep"
)

// pass is run without an early end and with longer steps.
func (w *pipeline) pass(d, step time.Duration) {
	w.t.Helper()
	for end := w.clock().Add(d); w.clock().Before(end); w.advance(step) {
		w.attempt(func(ctx context.Context) { _ = w.sweeper().Sweep(ctx, sweep.Section{}) })
		for w.step() {
		}
	}
}

func unavailable(outgoing.Message) error {
	return &outgoing.Failure{Kind: outgoing.Transient, Code: "unavailable"}
}

// The batch has been failing for 60 hours. The tests of send cover all 72.
func TestFailingBatch_EndsAfter72Hours(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	w.provider.refuse = unavailable
	b := w.accept(3, func(b *campaign.Batch) { b.FailingTime = campaign.FailingTime{For: 60 * time.Hour, At: w.clock()} })
	w.handOff(b)
	w.pass(11*time.Hour, 20*time.Minute)
	if got := w.outcomes(b); len(got) > 0 {
		t.Errorf("outcomes after 71 hours: %v", got)
	}
	w.pass(3*time.Hour, 20*time.Minute)
	if diff := cmp.Diff(map[string]int{"failed not_sent_in_time": 3}, w.outcomes(b)); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if now := w.batch(b); now.State != campaign.BatchCompleted || !now.NextCheck.IsZero() {
		t.Errorf("the batch is %s, to be checked at %v", now.State, now.NextCheck)
	}
	if len(w.frames.held)+len(w.frames.dead) > 0 {
		t.Errorf("%d tasks are left, %d dead letters", len(w.frames.held), len(w.frames.dead))
	}
}

func TestFailingBatch_PausedFor4Days(t *testing.T) {
	t.Parallel()
	for name, subject := range map[string]func(w *pipeline) string{
		"all":    func(*pipeline) string { return "all" },
		"tenant": func(w *pipeline) string { return "tenant#" + w.tenant },
		"agent":  func(w *pipeline) string { return "agent#" + w.agent },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newPipeline(t)
			w.provider.refuse = unavailable
			b := w.accept(103)
			w.handOff(b)
			w.pass(time.Hour, 10*time.Minute)
			w.must(w.store.Pause(t.Context(), subject(w)))
			w.pass(96*time.Hour, 2*time.Hour)
			w.must(w.store.Resume(t.Context(), subject(w)))
			w.pass(time.Hour, 10*time.Minute)
			w.provider.refuse = nil
			w.pass(time.Hour, 10*time.Minute)
			w.checkSent(b)
			if now := w.batch(b); now.FailingTime != (campaign.FailingTime{}) {
				t.Errorf("it is failing: %+v", now.FailingTime)
			}
		})
	}
}

func TestFailingBatch_ScheduledIn5Days(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	due := w.clock().Add(120 * time.Hour)
	b := w.accept(3, func(b *campaign.Batch) { b.Scheduled, b.Due, b.NextCheck = true, due, due.Add(2*time.Minute) })
	w.provider.refuse = func(d outgoing.Message) error {
		if w.clock().Before(due.Add(time.Hour)) {
			return unavailable(d)
		}
		return nil
	}
	w.pass(122*time.Hour, time.Hour)
	w.checkSent(b)
}

// All frames of a batch are sent concurrently, each by its own function, and the provider
// accepts one message. The failures of the others are counted once, or reset.
func TestFailingBatch_ConcurrentRuns(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	b := w.accept(1000, func(b *campaign.Batch) {
		b.State = campaign.BatchSending
		b.FailingTime = campaign.FailingTime{For: campaign.MaxFailingTime - 30*time.Minute, At: w.clock().Add(-10 * time.Minute)}
	})
	var taken string
	w.provider.refuse = func(d outgoing.Message) error {
		if taken == "" || taken == d.ID {
			taken = d.ID
			return nil
		}
		return unavailable(d)
	}
	for f := range b.Frames() {
		body, err := json.Marshal(outgoing.SendTask{BatchRef: b.BatchRef, Frame: f})
		w.must(err)
		w.frames.add(body, 0)
	}
	together(b.Frames(), func(int) { w.deliver(w.frames, w.sender(8), 1) })
	if failing := w.batch(b).FailingTime.For; failing >= campaign.MaxFailingTime {
		t.Errorf("after one attempt of each frame it fails for %v", failing)
	}
	w.pass(time.Hour, 10*time.Minute)
	if diff := cmp.Diff(map[string]int{"sent ": 1}, w.outcomes(b)); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if failing := w.batch(b).FailingTime.For; failing > 2*time.Hour {
		t.Errorf("it fails for %v", failing)
	}
}
