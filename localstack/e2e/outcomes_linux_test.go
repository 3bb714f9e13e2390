package e2e_test

// This test finds the functions' processes in /proc, so it runs on Linux only.

import (
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/localstack/testsize"
)

// soakMessages returns the number of messages: SOAK_MESSAGES, or 250, and 2,000 in `make prove`.
func soakMessages(t *testing.T) int {
	t.Helper()
	text := os.Getenv("SOAK_MESSAGES")
	if text == "" {
		return testsize.Of(250, 2000)
	}
	n, err := strconv.Atoi(text)
	must(t, err)
	return n
}

// The provider's events arrive late, three times and out of order, and functions are killed
// meanwhile. Every message must have its outcome and every change its webhook.
func TestOutcomes_KilledFunctions(t *testing.T) { //nolint:paralleltest // it kills functions that other tests use
	const failing, silent, killEvery = 20, 20, 80
	total := soakMessages(t)
	limit := 2*time.Minute + time.Duration(total)*100*time.Millisecond
	posted := 10*time.Minute + limit // two failed posts wait for 5 minutes, and a killed function for the repair after 2
	c := newClient(t).ownTenant().receiveEvents()
	sink := c.receiver()
	for _, queue := range []string{"SEND_QUEUE_URL", "EVENTS_QUEUE_URL", "NOTIFY_QUEUE_URL"} {
		c.setVisibilityTimeout(queue, "30") // longer than a task takes, whose fifth receive is its last
	}
	all := messages(total)
	fates := withFate(all[:failing], "unreachable")
	maps.Copy(fates, withFate(all[failing:failing+silent], "undelivered"))
	c.control(http.MethodPut, c.env["RCS_URL"]+"/_sim/fates", fates, nil)
	c.setBehaviour(map[string]any{"latencyMs": 20, "eventDelayMs": 300, "eventJitterMs": 3000, "eventCopies": 3})
	call := c.call(all)
	refs := c.dispatchAll(call)

	read := total - failing - silent
	killed := 0
	for range total / killEvery {
		before := c.read(call).Counts
		c.eventually(5*time.Minute, "counts changed", func() bool {
			c.sweep(refs...)
			counts := c.read(call).Counts
			return !cmp.Equal(before, counts) || counts["read"] == read
		})
		functions := []string{"SEND_FUNCTION", "EVENTS_FUNCTION", "OUTCOMES_FUNCTION", "NOTIFY_FUNCTION"}
		rand.Shuffle(len(functions), func(i, j int) { functions[i], functions[j] = functions[j], functions[i] })
		killed += c.killFunctions(functions[:3]...)
	}

	want := map[string]int{"read": read, "failed": failing, "sent": silent}
	c.eventually(limit, "all read", func() bool {
		for _, ref := range refs {
			c.sweepNow(ref)
		}
		return cmp.Equal(want, c.read(call).Counts)
	})
	sink.awaitAll(posted, call)
	for uid, f := range c.fates(call, "") {
		if want := expected(uid, failing, silent); f.Status != want {
			t.Errorf("message %s is %s, want %s", uid, f.Status, want)
		}
	}
	sink.checkReceived(c.log(call))

	for _, ref := range refs { // the time for events has ended
		if b := c.batch(ref); b.State == campaign.BatchSent {
			c.checkNow(b)
		}
	}
	want = map[string]int{"read": read, "failed": failing, "expired": silent}
	c.eventually(5*time.Minute, "expired", func() bool { c.sweep(refs...); return cmp.Equal(want, c.read(call).Counts) })
	sink.awaitAll(posted, call)
	if status := c.read(call).Status; status != "completed" {
		t.Errorf("the campaign is %s, want completed", status)
	}
	if killed == 0 {
		t.Error("no process was killed")
	}
	t.Logf("killed %d processes, received %d posts for %d changes", killed, len(sink.posts()), len(c.log(call)))
}

// dispatchAll dispatches any number of messages in batches.
func (c *client) dispatchAll(call fields) (batches []campaign.BatchRef) {
	c.t.Helper()
	for part := range slices.Chunk(call["messages"].([]fields), campaign.MaxMessages) {
		batch := maps.Clone(call)
		batch["batch"], batch["messages"] = strconv.Itoa(len(batches)), part
		if got := c.dispatch(batch); got.Accepted != len(part) {
			c.t.Fatalf("dispatch: status %d: %s", got.status, got.body)
		}
		batches = append(batches, c.ref(batch))
	}
	return batches
}
