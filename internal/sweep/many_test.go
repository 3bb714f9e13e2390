package sweep_test

import (
	"encoding/json"
	mathrand "math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/webhook/delivery"
	"campaign-dispatch/localstack/testsize"
)

// manyMessages is the number of messages of a batch of the test below.
const manyMessages = 50

// Events of many batches arrive in random order, three times, over two hours. Each process
// crashes: the first before its first call, the next after it, and so on.
func TestOutcomes_RepeatedCrashes(t *testing.T) {
	t.Parallel()
	n := testsize.Of(3, 6)
	w := withEndpoints(newPipeline(t))
	w.provider.answers = false
	w.death.turns = true
	batches := make([]campaign.Batch, n)
	for i := range batches {
		batches[i] = w.accept(manyMessages)
		w.handOff(batches[i])
	}
	w.goOn(2 * time.Hour)
	w.tellOf(batches)
	w.goOn(5 * time.Hour)
	t.Logf("%d calls, %d processes were killed", len(w.death.calls), w.death.deaths)
	w.death.turns = false
	w.goOn(time.Hour)
	for _, b := range batches {
		w.checkRead(b)
	}
	if completed := w.sink.posts["some"][string(delivery.KindCompleted)]; completed < n {
		t.Errorf("%d of %d campaigns got campaign.completed", completed, n)
	}
	w.checkNothingIsDue()
}

// goOn is settle with redriven dead letters.
func (w *pipeline) goOn(d time.Duration) {
	w.t.Helper()
	for end := w.clock().Add(d); w.clock().Before(end); {
		w.settle(30 * time.Minute)
		for _, q := range []*tasks{w.releases, w.frames, w.events, w.deliveries, w.revokes} {
			for _, body := range q.dead {
				q.add([]byte(body), 0)
			}
			q.dead = nil
		}
	}
}

// tellOf makes the provider send delivered and read events for each message, three times.
func (w *pipeline) tellOf(batches []campaign.Batch) {
	w.t.Helper()
	var bodies [][]byte
	for _, b := range batches {
		for i := range b.Accepted {
			for _, kind := range []reaction.EventKind{reaction.EventDelivered, reaction.EventRead} {
				body, err := json.Marshal(reaction.EventTask{Kind: kind, AgentID: w.agent, MessageID: b.Key.MessageID(i), At: w.clock()})
				w.must(err)
				bodies = append(bodies, body, body, body)
			}
		}
	}
	mathrand.Shuffle(len(bodies), func(i, j int) { bodies[i], bodies[j] = bodies[j], bodies[i] })
	for _, body := range bodies {
		w.events.add(body, mathrand.N(2*time.Hour))
	}
}

// checkRead checks that each message of the batch is read and that each log entry was
// posted.
func (w *pipeline) checkRead(b campaign.Batch) {
	w.t.Helper()
	if now := w.batch(b); now.State != campaign.BatchCompleted || !now.NextCheck.IsZero() {
		w.t.Errorf("the batch is %s, to be checked at %v", now.State, now.NextCheck)
	}
	if diff := cmp.Diff(map[string]int{"read ": b.Accepted}, w.outcomes(b)); diff != "" {
		w.t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	log, err := w.store.Changes(w.t.Context(), b, 0, campaign.MaxChanges)
	w.must(err)
	posts := w.sink.posts["all "+b.Key.String()]
	for i := range log {
		if posts[strconv.Itoa(i+1)] == 0 {
			w.t.Errorf("entry %d of %d was not posted", i+1, len(log))
		}
	}
	for posted := range posts {
		if n, _ := strconv.Atoi(posted); n < 1 || n > len(log) {
			w.t.Errorf("entry %s was posted of a log of %d", posted, len(log))
		}
	}
}
