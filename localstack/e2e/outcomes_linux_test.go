package e2e_test

// The functions' processes are found in /proc, which is why this test is for
// Linux.

import (
	"maps"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The provider's events come late, three times and in any order, the functions
// are killed all the while, and still every message ends as it should, every
// change is told, and the books balance.
func TestKilledFunctionsLoseNoOutcome(t *testing.T) { //nolint:paralleltest // it kills what works for other tests too
	const total, failing, silent = 500, 20, 20
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
	if got := c.dispatch(call); got.Accepted != total {
		t.Fatalf("answered %d %s", got.status, got.body)
	}

	killed := 0
	for range 6 {
		before := len(c.log(call))
		c.eventually(time.Minute, "at work again", func() bool {
			c.sweep()
			counts := c.read(call).Counts
			return len(c.log(call)) > before || counts["read"] == total-failing-silent
		})
		functions := []string{"SEND_FUNCTION", "EVENTS_FUNCTION", "OUTCOMES_FUNCTION", "NOTIFY_FUNCTION"}
		rand.Shuffle(len(functions), func(i, j int) { functions[i], functions[j] = functions[j], functions[i] })
		killed += c.killFunctions(functions[:3]...)
	}

	want := map[string]int{"read": total - failing - silent, "failed": failing, "sent": silent}
	c.eventually(2*time.Minute, "all read", func() bool {
		c.sweepNow(c.ref(call))
		return cmp.Equal(want, c.read(call).Counts)
	})
	c.eventually(2*time.Minute, "all told", func() bool { c.sweep(); return sink.had(c.log(call)) })
	for uid, f := range c.fates(call, "") {
		if want := expected(uid, failing, silent); f.Status != want {
			t.Errorf("message %s is %s, want %s", uid, f.Status, want)
		}
	}
	sink.checkHad(c.log(call))

	c.checkNow(c.batch(c.ref(call))) // the time for answers is over
	want = map[string]int{"read": total - failing - silent, "failed": failing, "expired": silent}
	c.eventually(time.Minute, "expired", func() bool { c.sweep(); return cmp.Equal(want, c.read(call).Counts) })
	c.eventually(time.Minute, "all told", func() bool { c.sweep(); return sink.had(c.log(call)) })
	if status := c.read(call).Status; status != "completed" {
		t.Errorf("the campaign is %s at last", status)
	}
	t.Logf("%d processes were killed, %d posts told %d changes", killed, len(sink.posts()), len(c.log(call)))
}
