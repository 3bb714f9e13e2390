package e2e_test

// The functions' processes are found in /proc, which is why this test is for
// Linux.

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
)

// soakMessages is how many messages the test sends that kills functions all the
// while: as many as SOAK_MESSAGES says, or as few as show all that can happen.
func soakMessages(t *testing.T) int {
	t.Helper()
	text := os.Getenv("SOAK_MESSAGES")
	if text == "" {
		return 500
	}
	n, err := strconv.Atoi(text)
	must(t, err)
	return n
}

// The provider's events come late, three times and in any order, the functions
// are killed all the while, and still every message ends as it should, every
// change is told, and the ledger balance.
func TestKilledFunctionsLoseNoOutcome(t *testing.T) { //nolint:paralleltest // it kills what works for other tests too
	const failing, silent, killEvery = 20, 20, 80
	total := soakMessages(t)
	patience := 2*time.Minute + time.Duration(total)*100*time.Millisecond
	c := newClient(t).ownTenant().hear()
	sink := c.receiver()
	for _, queue := range []string{"SEND_QUEUE_URL", "EVENTS_QUEUE_URL", "NOTIFY_QUEUE_URL"} {
		c.hideFor(queue, "5")
	}
	all := messages(total)
	fates := fated(all[:failing], "unreachable")
	maps.Copy(fates, fated(all[failing:failing+silent], "undelivered"))
	c.control(http.MethodPut, c.env["RCS_URL"]+"/_sim/fates", fates, nil)
	c.behave(map[string]any{"latencyMs": 20, "eventDelayMs": 300, "eventJitterMs": 3000, "eventCopies": 3})
	call := c.call(all)
	batches := c.dispatchAll(call)

	read := total - failing - silent
	killed := 0
	for range total / killEvery {
		before := c.read(call).Counts
		c.eventually(5*time.Minute, "at work again", func() bool {
			c.sweep()
			counts := c.read(call).Counts
			return !cmp.Equal(before, counts) || counts["read"] == read
		})
		functions := []string{"SEND_FUNCTION", "EVENTS_FUNCTION", "OUTCOMES_FUNCTION", "NOTIFY_FUNCTION"}
		rand.Shuffle(len(functions), func(i, j int) { functions[i], functions[j] = functions[j], functions[i] })
		killed += c.killFunctions(functions[:3]...)
	}

	want := map[string]int{"read": read, "failed": failing, "sent": silent}
	c.eventually(patience, "all read", func() bool {
		for _, batch := range batches {
			c.sweepNow(c.ref(batch))
		}
		return cmp.Equal(want, c.read(call).Counts)
	})
	c.eventually(patience, "all told", func() bool { c.sweep(); return sink.had(c.log(call)) })
	for uid, f := range c.fates(call, "") {
		if want := expected(uid, failing, silent); f.Status != want {
			t.Errorf("message %s is %s, want %s", uid, f.Status, want)
		}
	}
	sink.checkHad(c.log(call))

	for _, batch := range batches { // the time for answers is over
		if b := c.batch(c.ref(batch)); b.State == campaign.BatchSent {
			c.checkNow(b)
		}
	}
	want = map[string]int{"read": read, "failed": failing, "expired": silent}
	c.eventually(5*time.Minute, "expired", func() bool { c.sweep(); return cmp.Equal(want, c.read(call).Counts) })
	c.eventually(patience, "all told", func() bool { c.sweep(); return sink.had(c.log(call)) })
	if status := c.read(call).Status; status != "completed" {
		t.Errorf("the campaign is %s at last", status)
	}
	t.Logf("%d processes were killed, %d posts told %d changes", killed, len(sink.posts()), len(c.log(call)))
}

// dispatchAll dispatches a call of any number of messages in batches.
func (c *client) dispatchAll(call fields) []fields {
	c.t.Helper()
	var batches []fields
	for part := range slices.Chunk(call["messages"].([]fields), campaign.MaxMessages) {
		batch := maps.Clone(call)
		batch["batch"], batch["messages"] = strconv.Itoa(len(batches)), part
		if got := c.dispatch(batch); got.Accepted != len(part) {
			c.t.Fatalf("answered %d %s", got.status, got.body)
		}
		batches = append(batches, batch)
	}
	return batches
}
