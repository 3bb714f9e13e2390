package sweep_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/sweep"
	"campaign-dispatch/internal/sweep/overdue"
	"campaign-dispatch/internal/webhook/delivery"
	"campaign-dispatch/localstack/testsize"
)

// withEndpoints adds an endpoint for all message events, and one for read events and the
// campaign's completion.
func withEndpoints(w *pipeline) *pipeline {
	w.provider.answers = true
	for id, kinds := range map[string][]string{"all": nil, "some": {string(delivery.KindRead), string(delivery.KindCompleted)}} {
		w.must(w.store.SaveEndpoint(w.t.Context(), delivery.Endpoint{ID: id, Tenant: w.tenant, URL: "https://example.com", Secret: "s", Kinds: kinds}))
	}
	return w
}

// checkAnswered checks that each message of the batch is read, that nothing is left to do,
// and that the endpoints received all pending webhooks.
func (w *pipeline) checkAnswered(b campaign.Batch) {
	w.t.Helper()
	if now := w.batch(b); now.State != campaign.BatchCompleted || !now.NextCheck.IsZero() {
		w.t.Errorf("the batch is %s, to be checked at %v; want it completed and done", now.State, now.NextCheck)
	}
	if diff := cmp.Diff(map[string]int{"read ": b.Accepted}, w.outcomes(b)); diff != "" {
		w.t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	w.provider.check(w.t, b)
	log, err := w.store.Changes(w.t.Context(), b, 0, campaign.MaxChanges)
	w.must(err)
	pending := map[string]bool{}
	for _, c := range log {
		pending[fmt.Sprint(c.Index, " ", c.Outcome)] = true
	}
	for i := range b.Accepted {
		if !pending[fmt.Sprint(i, " read")] {
			w.t.Errorf("message %d was never read", i)
		}
	}
	for what := range pending {
		if w.sink.posts["all"][what] == 0 {
			w.t.Errorf("a webhook was lost: %s", what)
		}
	}
	if w.sink.posts["some"][string(delivery.KindCompleted)] == 0 {
		w.t.Error("no webhook says that the campaign is completed")
	}
	if w.sink.posts["all"][string(delivery.KindCompleted)] > 0 {
		w.t.Error("an endpoint got campaign.completed without its subscription")
	}
	w.checkNothingIsDue()
}

// checkNothingIsDue checks that sweep finds no due items of the tenant later on.
func (w *pipeline) checkNothingIsDue() {
	w.t.Helper()
	far := w.clock().Add(1000 * time.Hour)
	for _, due := range []iter.Seq2[overdue.Item, error]{mortal{w}.Due(w.t.Context(), 0, far), mortal{w}.DueDeliveries(w.t.Context(), 0, far)} {
		for due, err := range due {
			w.must(err)
			w.t.Errorf("%+v is due still", due)
		}
	}
}

// live runs a batch from its hand-off until all messages are read and posted.
func (w *pipeline) live(b campaign.Batch) {
	w.t.Helper()
	w.handOff(b)
	w.run(b, 3*time.Hour)
	w.settle(40 * time.Minute)
}

// settle runs the pipeline for a while.
func (w *pipeline) settle(d time.Duration) {
	for end := w.clock().Add(d); w.clock().Before(end); {
		for w.step() {
		}
		w.advance(5 * time.Minute)
		w.attempt(func(ctx context.Context) { _ = w.sweeper().Sweep(ctx, sweep.Section{}) })
	}
	for w.step() {
	}
}

func TestOutcomes_CrashAtAnyCall(t *testing.T) {
	t.Parallel()
	rehearsal := withEndpoints(newPipeline(t))
	b := rehearsal.accept(103)
	rehearsal.live(b)
	rehearsal.checkAnswered(b)
	atEach(t, rehearsal.death.calls, worthTrying, func(t *testing.T, c testsize.Crash) {
		t.Helper()
		w := withEndpoints(newPipeline(t))
		w.death.at, w.death.after = c.At, c.After
		b := w.accept(103)
		w.live(b)
		w.checkAnswered(b)
	})
}

// worthTrying returns the calls at which a process crashes: the first two and the last two
// of each name, without sweeps that find nothing. The other calls only concern other
// messages.
func worthTrying(calls []string) []int {
	byName := map[string][]int{}
	for i, name := range calls {
		byName[name] = append(byName[name], i+1)
	}
	delete(byName, "Due")
	var steps []int
	for _, at := range byName {
		steps = append(steps, at[:min(2, len(at))]...)
		steps = append(steps, at[min(len(at), max(2, len(at)-2)):]...)
	}
	slices.Sort(steps)
	return steps
}

func TestSweep_UnansweredMessages(t *testing.T) {
	t.Parallel()
	w := withEndpoints(newPipeline(t))
	w.provider.answers = false
	b := w.accept(103)
	w.handOff(b)
	w.run(b, time.Hour)
	w.checkSent(b)
	w.advance(campaign.MessageTTL + campaign.AnswerGrace - time.Hour)
	w.settle(30 * time.Minute)
	if diff := cmp.Diff(map[string]int{"sent ": 103}, w.outcomes(b)); diff != "" {
		t.Errorf("outcomes before the time was over (-want +got):\n%s", diff)
	}
	w.settle(time.Hour)
	if now := w.batch(b); now.State != campaign.BatchCompleted || !now.NextCheck.IsZero() {
		t.Errorf("the batch is %s, to be checked at %v", now.State, now.NextCheck)
	}
	if diff := cmp.Diff(map[string]int{"expired no_answer": 103}, w.outcomes(b)); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if got := w.sink.posts["all"]["7 expired"]; got != 1 {
		t.Errorf("its end was posted %d times", got)
	}
	// It was delivered after all: a delivery receipt overrides the expiry.
	w.event(reaction.EventTask{Kind: reaction.EventDelivered, MessageID: b.Key.MessageID(7)})
	w.settle(10 * time.Minute)
	if diff := cmp.Diff(map[string]int{"expired no_answer": 102, "delivered ": 1}, w.outcomes(b)); diff != "" {
		t.Errorf("outcomes after a late delivery (-want +got):\n%s", diff)
	}
	w.checkNothingIsDue()
}

// event queues a provider event of the given agent, by default the tenant's.
func (w *pipeline) event(e reaction.EventTask) {
	w.t.Helper()
	e.At = w.clock()
	if e.AgentID == "" {
		e.AgentID = w.agent
	}
	body, err := json.Marshal(e)
	w.must(err)
	w.events.add(body, 0)
}

func TestEvents_UnknownMessages(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	b := w.accept(3)
	for _, id := range []string{"", "unknown", uuid(), b.Key.MessageID(3)} {
		w.event(reaction.EventTask{Kind: reaction.EventRead, MessageID: id})
	}
	w.event(reaction.EventTask{Kind: reaction.EventDelivered, MessageID: b.Key.MessageID(1)}) // it arrives before its message is recorded
	for w.deliver(w.events, w.applier(), 500) {
	}
	if len(w.events.held) != 5 {
		t.Errorf("%d of 5 events are retried", len(w.events.held))
	}
	w.handOff(b)
	w.run(b, time.Hour)
	w.settle(40 * time.Minute)
	if diff := cmp.Diff(map[string]int{"sent ": 2, "delivered ": 1}, w.outcomes(b)); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if len(w.events.held)+len(w.events.dead) > 0 {
		t.Errorf("%d events are still retried, %d are dead letters", len(w.events.held), len(w.events.dead))
	}
}

// answer is an event sent by a recipient.
func (w *pipeline) answer(kind reaction.EventKind, phone, text string) {
	w.t.Helper()
	_, pending, _ := reaction.OptChangeOf(kind, text, "")
	body, err := json.Marshal(reaction.EventContent{Phone: phone, Text: text, Pending: pending})
	w.must(err)
	key := fmt.Sprintf("events/%s/%s%s%s%d", w.agent, kind, phone, text, w.clock().Unix())
	w.blobs[key] = body
	w.event(reaction.EventTask{Kind: kind, Blob: key})
}

func TestOptOuts(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		out, in [2]string // kind and text
		posts   map[string]int
	}{
		"by event": {[2]string{"opt_out", ""}, [2]string{"opt_in", ""}, map[string]int{"message.opted_out": 1}},
		"by word":  {[2]string{"reply", " Parar. "}, [2]string{"reply", "COMEÇAR"}, map[string]int{"message.opted_out": 1, "message.replied": 2}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := withEndpoints(newPipeline(t))
			w.provider.answers = false
			w.answer(reaction.EventKind(tt.out[0]), "+5511900000001", tt.out[1])
			stale := w.events.held["000001"].body
			w.settle(time.Minute)
			first := w.accept(3)
			w.handOff(first)
			w.run(first, time.Hour)
			if diff := cmp.Diff(map[string]int{"sent ": 2, "failed opted_out": 1}, w.outcomes(first)); diff != "" {
				t.Errorf("outcomes after the opt-out (-want +got):\n%s", diff)
			}
			w.answer(reaction.EventKind(tt.in[0]), "+5511900000001", tt.in[1])
			w.settle(time.Minute)
			w.events.add([]byte(stale), 0) // the provider repeats the opt-out
			w.settle(time.Minute)
			second := w.accept(3)
			w.handOff(second)
			w.run(second, time.Hour)
			if diff := cmp.Diff(map[string]int{"sent ": 3}, w.outcomes(second)); diff != "" {
				t.Errorf("outcomes after its end (-want +got):\n%s", diff)
			}
			got := map[string]int{}
			for what, n := range w.sink.posts["all"] {
				if _, of := tt.posts[what]; of {
					got[what] = min(n, tt.posts[what]) // repeated events can repeat posts
				}
			}
			if diff := cmp.Diff(tt.posts, got); diff != "" {
				t.Errorf("posts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCampaign_CompletedWithLastBatch(t *testing.T) {
	t.Parallel()
	w := withEndpoints(newPipeline(t))
	first := w.accept(3)
	w.live(first)
	if got := w.sink.posts["some"][string(delivery.KindCompleted)]; got != 1 {
		t.Fatalf("campaign.completed was posted %d times after the only batch", got)
	}
	var more [2]campaign.Batch
	for i := range more {
		more[i] = w.accept(3, func(b *campaign.Batch) {
			b.ID, b.Ordinal, b.Due = first.ID, i+2, w.clock().Add(time.Duration(i)*2*time.Hour)
		})
	}
	w.live(more[0])
	if got := w.sink.posts["some"][string(delivery.KindCompleted)]; got != 1 {
		progress, _ := w.store.Progress(t.Context(), first.ID)
		t.Errorf("campaign.completed was posted %d times with a batch to come: %+v", got, progress)
	}
	w.advance(2 * time.Hour)
	w.live(more[1])
	if got := w.sink.posts["some"][string(delivery.KindCompleted)]; got != 2 {
		t.Errorf("campaign.completed was posted %d times after two ends", got)
	}
	w.checkNothingIsDue()
}

// A campaign that completes while it is paused is not paused any more, at whichever call a process crashes. Only
// campaign.completed says so.
func TestPause_CompletedCrashAtAnyCall(t *testing.T) {
	t.Parallel()
	live := func(t *testing.T, c testsize.Crash) *pipeline {
		t.Helper()
		w := withEndpoints(newPipeline(t))
		w.provider.answers = false
		w.must(w.store.SaveEndpoint(t.Context(), delivery.Endpoint{
			ID: "pauses", Tenant: w.tenant, URL: "https://example.com", Secret: "s", Kinds: []string{string(delivery.KindResumed)},
		}))
		b := w.accept(3)
		w.handOff(b)
		w.run(b, time.Hour)
		w.pause(campaign.PauseSubject(b.ID), b)
		w.death.calls, w.death.at, w.death.after = nil, c.At, c.After
		for i := range b.Accepted {
			w.event(reaction.EventTask{Kind: reaction.EventRead, MessageID: b.Key.MessageID(i)})
		}
		w.settle(time.Hour)
		w.checkResumed(b)
		if got := w.sink.posts["some"][string(delivery.KindCompleted)]; got == 0 || c.At == 0 && got > 1 || len(w.sink.posts["pauses"]) > 0 {
			t.Errorf("campaign.completed was posted %d times; of pauses: %v", got, w.sink.posts["pauses"])
		}
		return w
	}
	atEach(t, live(t, testsize.Crash{}).death.calls, worthTrying, func(t *testing.T, c testsize.Crash) {
		t.Helper()
		live(t, c)
	})
}

// checkResumed checks that the campaign of a batch is not paused and keeps no place among the paused ones.
func (w *pipeline) checkResumed(b campaign.Batch) {
	w.t.Helper()
	c, err := w.store.Dispatched(w.t.Context(), b.ID)
	w.must(err)
	route, err := w.store.Route(w.t.Context(), w.tenant, w.agent)
	w.must(err)
	if !c.PausedAt.IsZero() || len(route.Paused) > 0 {
		w.t.Errorf("paused at %v; paused campaigns of the tenant: %v", c.PausedAt, route.Paused)
	}
}

// A campaign whose last messages expire during a pause, and one that awaits parts which are discarded, are completed too.
func TestPause_CompletedWithoutSending(t *testing.T) {
	t.Parallel()
	w := withEndpoints(newPipeline(t))
	expiring := w.accept(3, func(b *campaign.Batch) { b.NotAfter = b.Due.Add(5 * time.Minute) })
	w.pause(campaign.PauseSubject(expiring.ID), expiring)
	w.handOff(expiring)
	w.settle(time.Hour)
	w.checkResumed(expiring)
	part := w.acceptPart(3, campaign.SubmissionTotals{Lines: 6, People: 6, Accepted: 3, PartsToCome: 1, Until: w.clock().AddDate(0, 0, 7)})
	w.live(part)
	w.pause(campaign.PauseSubject(part.ID), part)
	_, err := w.store.EndParts(t.Context(), part.ID)
	w.must(err)
	w.settle(time.Hour)
	w.checkResumed(part)
	if got := w.sink.posts["some"][string(delivery.KindCompleted)]; got != 2 {
		t.Errorf("campaign.completed was posted %d times, want once a campaign", got)
	}
}

// A campaign whose file has parts to come is completed with its last part, or when the rest is
// discarded.
func TestCampaign_CompletedWithLastPart(t *testing.T) {
	t.Parallel()
	for name, discarded := range map[string]bool{"the last part comes": false, "the rest is discarded": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := withEndpoints(newPipeline(t))
			totals := campaign.SubmissionTotals{Lines: 6, People: 6, Accepted: 3, PartsToCome: 1, Until: w.clock().AddDate(0, 0, 7)}
			first := w.acceptPart(3, totals)
			w.live(first)
			if got := w.sink.posts["some"][string(delivery.KindCompleted)]; got > 0 {
				t.Errorf("campaign.completed was posted %d times with a part to come", got)
			}
			if discarded {
				_, err := w.store.EndParts(t.Context(), first.ID)
				w.must(err)
				w.settle(time.Hour)
			} else {
				w.live(w.acceptPart(3, totals.WithPart(3, 3, 0), func(b *campaign.Batch) { b.ID, b.Ordinal = first.ID, 2 }))
				w.settle(time.Hour)
			}
			if got := w.sink.posts["some"][string(delivery.KindCompleted)]; got != 1 {
				t.Errorf("campaign.completed was posted %d times, want once", got)
			}
			w.checkNothingIsDue()
		})
	}
}
