package sweep_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/send/outgoing"
	"campaign-dispatch/internal/sweep"
)

// crowd queues batches of a tenant for sending, as release does. No function receives them.
func (w *pipeline) crowd(tenant string, batches, frames int) []campaign.Batch {
	w.t.Helper()
	var all []campaign.Batch
	for range batches {
		b := w.accept(frames*campaign.FrameSize, func(b *campaign.Batch) {
			b.Tenant, b.State, b.NextCheck = tenant, campaign.BatchSending, w.clock().Add(sweepAfter)
		})
		for f := range frames {
			body, err := json.Marshal(outgoing.SendTask{BatchRef: b.BatchRef, Frame: f})
			w.must(err)
			w.frames.add(body, 0)
		}
		all = append(all, b)
	}
	return all
}

// tasksOf counts the visible tasks of a tenant.
func (w *pipeline) tasksOf(tenant string) int {
	n := 0
	for _, m := range w.frames.held {
		if strings.Contains(m.body, tenant) && !m.from.After(w.clock()) {
			n++
		}
	}
	return n
}

func (w *pipeline) sweepEach(every time.Duration, times int) {
	w.t.Helper()
	for range times {
		w.advance(every)
		w.must(w.sweeper().Sweep(w.t.Context(), sweep.Part{}))
	}
}

// With a long queue, frames wait longer than the sweep interval. They are requeued only
// if they cannot be in the queue.
func TestSweep_Backlog(t *testing.T) {
	t.Parallel()
	for name, fill := range map[string]func(w *pipeline) campaign.Batch{
		"of one tenant": func(w *pipeline) campaign.Batch { return w.crowd(w.tenant, 50, 20)[49] },
		"of batches that come due minute by minute": func(w *pipeline) campaign.Batch {
			var last campaign.Batch
			for range 10 {
				last = w.crowd(w.tenant, 10, 10)[9]
				w.advance(time.Minute)
			}
			return last
		},
		"of many tenants": func(w *pipeline) campaign.Batch {
			for range 20 {
				w.crowd(w.another(), 5, 10)
			}
			return w.crowd(w.tenant, 1, 10)[0]
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newPipeline(t)
			b := fill(w)
			before := w.frames.waiting()
			w.sweepEach(time.Minute, 21)
			if after := w.frames.waiting(); after != before {
				t.Errorf("%d tasks wait after the sweeps, %d before", after, before)
			}
			if wait := w.batch(b).NextCheck.Sub(w.clock()); wait <= 0 || wait > sweepAfter {
				t.Errorf("it looks again in %v, want at most %v", wait, sweepAfter)
			}

			clear(w.frames.held) // the waiting tasks are lost after all
			w.sweepEach(time.Minute, 11)
			if again := w.frames.waiting(); again < 1000 {
				t.Errorf("%d of %d lost tasks were queued again", again, before)
			}
		})
	}
}

// The queue is fair: behind one tenant's backlog, tasks of others are received at once, so
// their unsent frames are lost.
func TestSweep_LostFramesBehindAnotherTenantsBacklog(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]struct{ batches, frames int }{
		"one frame": {1, 1}, "a full batch": {1, 20}, "a frame of each of several batches": {10, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newPipeline(t)
			noisy := w.another()
			w.crowd(w.tenant, lost.batches, lost.frames)
			clear(w.frames.held)
			w.crowd(noisy, 100, 20)
			w.sweepEach(sweepAfter+time.Minute, 1)
			if got, want := w.tasksOf(w.tenant), lost.batches*lost.frames; got != want {
				t.Errorf("%d lost frames were queued again, want %d", got, want)
			}
			if got := w.tasksOf(noisy); got != 2000 {
				t.Errorf("%d tasks of the tenant with the backlog, want 2000", got)
			}
		})
	}
}
