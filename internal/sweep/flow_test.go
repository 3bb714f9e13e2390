package sweep_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/send/outgoing"
	"campaign-dispatch/internal/sweep"
	"campaign-dispatch/localstack/testsize"
)

// reading are the names of calls that store nothing.
var reading = map[string]bool{
	"AllPaused": true, "Batch": true, "Campaign": true, "Clicks": true, "Delivery": true, "Due": true, "Endpoints": true, "FindBatch": true,
	"Get": true, "GetRange": true, "Identity": true, "LedgerHead": true, "OptOutParts": true, "OptOutShard": true, "OptOuts": true,
	"OwnRoute": true, "Progress": true, "RateLimit": true, "Resumed": true, "Route": true, "TenantHours": true, "Submission": true, "Taps": true,
	"TemplateVersion": true, "Tenant": true, "TenantOf": true, "Waits": true, "waiting": true,
}

// crashes returns the crashes that a test tries among the calls at which it is worth it.
func crashes(calls []string, worth func(calls []string) []int) []testsize.Crash {
	worthIt := worth(calls)
	kinds := make([]string, len(worthIt))
	for i, at := range worthIt {
		if name := calls[at-1]; !reading[name] {
			kinds[i] = name
		}
	}
	all := testsize.Crashes(kinds)
	for i, c := range all {
		all[i].At = worthIt[c.At-1]
	}
	return all
}

// atEach runs a test for each crash.
func atEach(t *testing.T, calls []string, worth func(calls []string) []int, test func(t *testing.T, c testsize.Crash)) {
	t.Helper()
	for _, c := range crashes(calls, worth) {
		t.Run(fmt.Sprintf("call %d %s, after it %v", c.At, calls[c.At-1], c.After), func(t *testing.T) {
			t.Parallel()
			test(t, c)
		})
	}
}

// worthDying returns the calls at which a process crashes, counted from 1: all of them,
// except that of the provider calls only the first, a middle one and the last.
func worthDying(calls []string) []int {
	var steps []int
	seen := 0
	for i, name := range calls {
		if name == "provider" {
			if seen++; seen != 1 && seen != 50 && seen != 103 {
				continue
			}
		}
		steps = append(steps, i+1)
	}
	return steps
}

func TestSend_CrashAtAnyCall(t *testing.T) {
	t.Parallel()
	rehearsal := newPipeline(t)
	b := rehearsal.accept(103)
	rehearsal.handOff(b)
	rehearsal.run(b, time.Hour)
	rehearsal.checkSent(b)
	atEach(t, rehearsal.death.calls, worthDying, func(t *testing.T, c testsize.Crash) {
		t.Helper()
		w := newPipeline(t)
		w.death.at, w.death.after = c.At, c.After
		b := w.accept(103)
		w.handOff(b)
		w.run(b, 2*time.Hour)
		w.checkSent(b)
		if len(w.death.calls) < c.At {
			t.Errorf("only %d calls were made: no process crashed", len(w.death.calls))
		}
	})
}

func TestSweep_CrashAtAnyCall(t *testing.T) {
	t.Parallel()
	// The batch is never handed off, and later the tasks of its frames are lost.
	live := func(t *testing.T, c testsize.Crash) (*pipeline, campaign.Batch) {
		t.Helper()
		w := newPipeline(t)
		b := w.accept(103)
		w.advance(3 * time.Minute)
		w.death.at, w.death.after = c.At, c.After
		w.attempt(func(ctx context.Context) { _ = w.sweeper().Sweep(ctx, sweep.Section{}) })
		for w.deliver(w.releases, w.releaser(), 1) {
		}
		clear(w.frames.held)
		w.run(b, 2*time.Hour)
		return w, b
	}
	rehearsal, b := live(t, testsize.Crash{})
	rehearsal.checkSent(b)
	atEach(t, rehearsal.death.calls, worthDying, func(t *testing.T, c testsize.Crash) {
		t.Helper()
		w, b := live(t, c)
		w.checkSent(b)
	})
}

func TestSend_LongOutage(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	up := w.clock().Add(2 * time.Hour)
	w.provider.refuse = func(outgoing.Message) error {
		if w.clock().Before(up) {
			return &outgoing.Failure{Kind: outgoing.Transient, Code: "unavailable"}
		}
		return nil
	}
	b := w.accept(103)
	w.handOff(b)
	w.run(b, 4*time.Hour)
	w.checkSent(b)
	if len(w.frames.dead) > 0 {
		t.Errorf("%d tasks became dead letters, want none", len(w.frames.dead))
	}
}

func TestSend_PermanentFailures(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	w.provider.refuse = func(d outgoing.Message) error {
		switch d.Phone[len(d.Phone)-1] {
		case '1':
			return &outgoing.Failure{Kind: outgoing.Permanent, Code: "unreachable"}
		case '2':
			if w.provider.calls <= 103 {
				return &outgoing.Failure{Kind: outgoing.Throttled, Code: "throttled", RetryAfter: time.Minute}
			}
		}
		return nil
	}
	b := w.accept(103)
	w.handOff(b)
	if got := w.run(b, time.Hour); got.State != campaign.BatchSent {
		t.Errorf("the batch is %s", got.State)
	}
	if diff := cmp.Diff(map[string]int{"sent ": 92, "failed unreachable": 11}, w.outcomes(b)); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

func TestSend_NotAfterDuringOutage(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	b := w.accept(103, func(b *campaign.Batch) { b.NotAfter = b.Due.Add(30 * time.Minute) })
	w.provider.refuse = func(d outgoing.Message) error {
		if d.TTL > 30*time.Minute {
			t.Errorf("a message may live for %v, longer than the batch allows", d.TTL)
		}
		if d.Phone == "+5511900000007" {
			return nil
		}
		return &outgoing.Failure{Kind: outgoing.Transient, Code: "unavailable"}
	}
	w.handOff(b)
	if got := w.run(b, 2*time.Hour); got.State != campaign.BatchSent {
		t.Errorf("the batch is %s", got.State)
	}
	if diff := cmp.Diff(map[string]int{"sent ": 1, "expired not_after_passed": 102}, w.outcomes(b)); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

func TestPause(t *testing.T) {
	t.Parallel()
	tests := map[string]func(w *pipeline, b campaign.Batch) string{
		"tenant":   func(w *pipeline, _ campaign.Batch) string { return "tenant#" + w.tenant },
		"agent":    func(w *pipeline, _ campaign.Batch) string { return "agent#" + w.agent },
		"campaign": func(_ *pipeline, b campaign.Batch) string { return campaign.PauseSubject(b.ID) },
	}
	for name, subject := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newPipeline(t)
			b := w.accept(103)
			w.pause(subject(w, b), b)
			w.handOff(b)
			w.run(b, time.Hour)
			if w.provider.calls > 0 {
				t.Fatalf("%d messages were sent despite the pause", w.provider.calls)
			}
			w.resume(subject(w, b), b)
			w.run(b, 3*time.Minute)
			w.checkSent(b)
		})
	}
}

func (w *pipeline) pause(subject string, b campaign.Batch) {
	w.t.Helper()
	if subject == campaign.PauseSubject(b.ID) {
		_, err := w.store.PauseCampaign(w.t.Context(), b.ID, w.clock())
		w.must(err)
		return
	}
	w.must(w.store.Pause(w.t.Context(), subject))
}

func (w *pipeline) resume(subject string, b campaign.Batch) {
	w.t.Helper()
	if subject == campaign.PauseSubject(b.ID) {
		c, err := w.store.Campaign(w.t.Context(), b.ID)
		w.must(err)
		w.must(w.store.ResumeCampaign(w.t.Context(), b.ID, c.PausedAt))
		return
	}
	w.must(w.store.Resume(w.t.Context(), subject))
}

// changes counts in how many periods of 10 minutes the row of a batch changes. It skips those in which nothing is due.
func (w *pipeline) changes(b campaign.Batch, d time.Duration) int {
	w.t.Helper()
	n, was := 0, w.batch(b)
	for end := w.clock().Add(d); w.clock().Before(end); {
		from := w.clock()
		w.run(b, min(10*time.Minute, end.Sub(from)))
		now := w.batch(b)
		if !cmp.Equal(was, now) {
			n, was = n+1, now
		}
		if w.clock().Equal(from) { // nothing is left to do for the batch
			break
		}
		if now.State != campaign.BatchSent {
			w.advance((w.idle(end) - time.Minute).Truncate(10 * time.Minute))
		}
	}
	return n
}

// Nothing polls while a batch waits for the end of a pause.
func TestPause_Writes(t *testing.T) {
	t.Parallel()
	tests := map[string]func(b campaign.Batch) string{
		"tenant":   func(b campaign.Batch) string { return "tenant#" + b.Tenant },
		"campaign": func(b campaign.Batch) string { return campaign.PauseSubject(b.ID) },
	}
	for name, subject := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newPipeline(t)
			b := w.accept(103)
			w.handOff(b)
			w.pause(subject(b), b)
			n := w.changes(b, 10*time.Hour)
			if !w.batch(b).Waits.Paused || w.provider.calls > 0 {
				t.Fatalf("after 10 hours of a pause, the batch waits: %v; %d messages sent", w.batch(b).Waits.Paused, w.provider.calls)
			}
			w.resume(subject(b), b)
			if n += w.changes(b, 3*time.Minute); n > 15 {
				t.Errorf("the row of the batch changed in %d periods of 10 minutes, want 15 at most", n)
			}
			w.checkSent(b)
		})
	}
}

// A function that has read the pause can mark a batch as waiting after the end of the pause.
func TestResume_MarkedLate(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	w.must(w.store.Pause(t.Context(), "agent#"+w.agent))
	b := w.accept(103)
	w.handOff(b)
	for w.deliver(w.releases, w.releaser(), 1) {
	}
	w.must(w.store.Resume(t.Context(), "agent#"+w.agent))
	w.must(w.sweeper().Sweep(t.Context(), sweep.Section{})) // finds nothing that waits
	clear(w.frames.held)
	late := w.batch(b)
	late.Waits.Paused = true
	_, err := w.store.PostponeCheck(t.Context(), late, w.clock().Add(outgoing.PauseCheck))
	w.must(err)
	w.run(b, 3*time.Minute)
	w.checkSent(b)
}

// immediate passes the frames that are queued to a function at once.
type immediate struct {
	port.BatchQueue

	handle func()
}

func (q immediate) SendAll(ctx context.Context, group string, bodies [][]byte) error {
	err := q.BatchQueue.SendAll(ctx, group, bodies)
	q.handle()
	return err
}

// A function that still has the pause in its cache can receive the frames that sweep has queued at its end.
func TestResume_CachedPause(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	w.must(w.store.Pause(t.Context(), "tenant#"+w.tenant))
	b := w.accept(103)
	w.handOff(b)
	late := w.sender(1)
	for going := true; going; {
		going = w.deliver(w.releases, w.releaser(), 1) || w.deliver(w.frames, late, 5)
	}
	w.must(w.store.Resume(t.Context(), "tenant#"+w.tenant))
	sweeper := w.sweeper()
	sweeper.Frames = immediate{sweeper.Frames, func() {
		for w.deliver(w.frames, late, 5) {
		}
	}}
	w.must(sweeper.Sweep(t.Context(), sweep.Section{}))
	if !w.batch(b).Waits.Paused || w.provider.calls > 0 {
		t.Errorf("the batch waits for %+v, %d messages sent", w.batch(b).Waits, w.provider.calls)
	}
	w.run(b, 3*time.Minute)
	w.checkSent(b)
}

func TestResume_AnotherPause(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	w.must(w.store.Pause(t.Context(), "agent#"+w.agent))
	w.must(w.store.Pause(t.Context(), "tenant#"+w.tenant))
	b := w.accept(103)
	w.handOff(b)
	w.run(b, 30*time.Minute)
	w.must(w.store.Resume(t.Context(), "agent#"+w.agent))
	if n := w.changes(b, 6*time.Minute); n > 0 || w.provider.calls > 0 {
		t.Errorf("the other pause ended: %d changes, %d messages sent", n, w.provider.calls)
	}
	w.pause(campaign.PauseSubject(b.ID), b)
	w.must(w.store.Resume(t.Context(), "tenant#"+w.tenant))
	if w.changes(b, 6*time.Minute); w.provider.calls > 0 {
		t.Errorf("the campaign's pause ended: %d messages sent", w.provider.calls)
	}
	w.resume(campaign.PauseSubject(b.ID), b)
	w.run(b, 3*time.Minute)
	w.checkSent(b)
}

// The pause of a campaign does not hold another one of its tenant.
func TestPause_AnotherCampaign(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	paused, b := w.accept(3), w.accept(103)
	w.pause(campaign.PauseSubject(paused.ID), paused)
	w.handOff(b)
	w.run(b, time.Hour)
	w.checkSent(b)
}

func TestPause_Cancelled(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	b := w.accept(103)
	w.pause(campaign.PauseSubject(b.ID), b)
	w.handOff(b)
	w.run(b, 30*time.Minute)
	w.cancel(b, "")
	w.run(b, 3*time.Minute)
	if diff := cmp.Diff(map[string]int{"stopped cancelled": 103}, w.outcomes(b)); diff != "" {
		t.Errorf("outcomes 3 minutes after the cancellation (-want +got):\n%s", diff)
	}
}

// A frame can find the pause before its batch's release is complete.
func TestResume_PausedDuringRelease(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	w.must(w.store.Pause(t.Context(), "tenant#"+w.tenant))
	b := w.accept(103)
	_, err := w.store.StartRelease(t.Context(), b.BatchRef, w.agent, w.clock(), w.clock().Add(sweepAfter))
	w.must(err)
	body, err := json.Marshal(outgoing.SendTask{BatchRef: b.BatchRef})
	w.must(err)
	w.frames.add(body, 0)
	w.deliver(w.frames, w.sender(1), 1)
	_, err = w.store.EndRelease(t.Context(), b, w.clock().Add(sweepAfter), true)
	w.must(err)
	w.must(w.store.Resume(t.Context(), "tenant#"+w.tenant))
	w.run(b, 3*time.Minute)
	w.checkSent(b)
}

func TestPause_NotAfter(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	b := w.accept(3, func(b *campaign.Batch) { b.NotAfter = b.Due.Add(5 * time.Minute) })
	w.pause(campaign.PauseSubject(b.ID), b)
	w.handOff(b)
	w.run(b, time.Hour)
	if diff := cmp.Diff(map[string]int{"expired not_after_passed": 3}, w.outcomes(b)); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

func TestSend_TenantWithoutAgent(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	w.must(w.store.SaveTenant(t.Context(), campaign.Tenant{ID: w.tenant}, nil))
	b := w.accept(3)
	w.handOff(b)
	w.run(b, time.Hour)
	if len(w.frames.dead)+w.provider.calls > 0 {
		t.Fatalf("%d dead letters, %d messages sent", len(w.frames.dead), w.provider.calls)
	}
	w.must(w.store.SaveTenant(t.Context(), campaign.Tenant{ID: w.tenant, AgentID: w.agent}, nil))
	w.run(b, 3*time.Minute)
	w.checkSent(b)
}

func TestSend_PoisonTask(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	b := w.accept(103)
	ref := fmt.Sprintf(`"tenant":%q,"campaignId":%q,"batchId":%q`, b.Tenant, b.CampaignID, b.BatchID)
	poison := []string{`{`, `[]`, `{` + ref + `,"frame":2}`, `{` + ref + `,"frame":-1}`, `{` + ref + `,"frame":1,"only":[3]}`}
	w.provider.refuse = func(d outgoing.Message) error {
		if d.Phone == "+5511900000007" && len(w.frames.dead) < len(poison) { // the batch continues as long as the poison task
			return &outgoing.Failure{Kind: outgoing.Transient, Code: "unavailable"}
		}
		return nil
	}
	for _, body := range poison {
		w.frames.add([]byte(body), 0)
	}
	w.frames.add([]byte(`{"tenant":"none","campaignId":"none","batchId":"none"}`), 0)
	w.handOff(b)
	w.run(b, 3*time.Hour)
	w.checkSent(b)
	if diff := cmp.Diff(poison, w.frames.dead); diff != "" {
		t.Errorf("dead letters (-want +got):\n%s", diff)
	}
}

// TestSend_ConcurrentDuplicates delivers every task of a full batch three times, to eight
// concurrent functions, while sweeps run.
func TestSend_ConcurrentDuplicates(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	b := w.accept(campaign.MaxMessages)
	for range 3 {
		w.handOff(b)
	}
	w.advance(3 * time.Minute)
	together(8, func(i int) {
		w.deliver(w.releases, w.releaser(), 1)
		if i%4 == 0 {
			if err := w.sweeper().Sweep(t.Context(), sweep.Section{}); err != nil {
				t.Error(err)
			}
		}
		sender := w.sender(64)
		for w.deliver(w.frames, sender, 2) {
			continue
		}
	})
	w.run(b, time.Hour)
	w.checkSent(b)
	if len(w.frames.dead) > 0 {
		t.Errorf("%d dead letters", len(w.frames.dead))
	}
}

func together(n int, do func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { do(i) })
	}
	all.Wait()
}

func TestSweep_CompletedBatch(t *testing.T) {
	t.Parallel()
	for _, state := range []campaign.BatchState{campaign.BatchCompleted, campaign.BatchCancelled} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			w := newPipeline(t)
			b := w.accept(3, func(b *campaign.Batch) { b.State = state })
			var ended []campaign.Change
			for i := range b.Accepted {
				ended = append(ended, campaign.Change{Index: i, Outcome: campaign.OutcomeStopped, At: w.clock()})
			}
			w.must(w.recorder().Record(t.Context(), b, ended))
			got := w.run(b, 10*time.Minute)
			if got.State != state || !got.NextCheck.IsZero() || w.releases.added+w.frames.added+w.revokes.added > 0 {
				t.Errorf("the batch is %s, to be checked at %v, after %d tasks", got.State, got.NextCheck, w.releases.added+w.frames.added+w.revokes.added)
			}
		})
	}
}

func TestRelease_ScheduledBatch(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	due := w.clock().Add(40 * time.Minute)
	b := w.accept(3, func(b *campaign.Batch) { b.Scheduled, b.Due = true, due })
	w.provider.refuse = func(outgoing.Message) error {
		if w.clock().Before(due) {
			t.Errorf("a message was sent %v before its time", due.Sub(w.clock()))
		}
		return nil
	}
	w.handOff(b) // far too early
	w.advance(30 * time.Minute)
	w.handOff(b) // slightly too early
	w.run(b, time.Hour)
	w.checkSent(b)
}
