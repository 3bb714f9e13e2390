package e2e_test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/base/random"
)

const concurrentCalls = 12

// If concurrent calls conflict, the service accepts one and sends only its messages.
func TestDispatch_ConcurrentConflicts(t *testing.T) {
	t.Parallel()
	shared := messages(1)[0]
	for name, test := range map[string]struct {
		exists  bool // the campaign exists before the calls
		prepare func(call fields, i int)
		status  int // status of the other calls
		code    string
	}{
		"same new campaign without a batch": {
			status: http.StatusBadRequest, code: "batch_required",
		},
		"same name": {
			prepare: func(call fields, _ int) { call["campaignId"] = random.UUID() },
			status:  http.StatusConflict, code: "campaign_name_taken",
		},
		"same batch": {
			exists:  true,
			prepare: func(call fields, _ int) { call["batch"] = "second" },
			status:  http.StatusConflict, code: "batch_already_used",
		},
		"batches with a common number": {
			exists: true,
			prepare: func(call fields, i int) {
				call["batch"] = fmt.Sprint("batch ", i)
				call["messages"] = append(call["messages"].([]fields), shared)
			},
			status: http.StatusConflict, code: "number_already_dispatched",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t)
			calls := c.conflictingCalls(test.exists)
			for i, call := range calls {
				if test.prepare != nil {
					test.prepare(call, i)
				}
			}
			replies := c.dispatchConcurrently(calls)
			winner := slices.IndexFunc(replies, func(r reply) bool { return r.status == http.StatusAccepted })
			if winner < 0 {
				t.Fatalf("no call was accepted: status %d: %s", replies[0].status, replies[0].body)
			}
			for i, got := range replies {
				if i != winner && (got.status != test.status || got.Code != test.code) {
					t.Errorf("call %d after the accepted call %d: status %d: %s, want %d %s", i, winner, got.status, got.body, test.status, test.code)
				}
			}
			c.checkSentOnly(calls, winner)
		})
	}
}

// conflictingCalls returns concurrentCalls calls of one campaign with different messages. If
// exists is set, it dispatches a first batch.
func (c *client) conflictingCalls(exists bool) []fields {
	c.t.Helper()
	id, name := random.UUID(), "race "+rand.Text()
	calls := make([]fields, concurrentCalls)
	for i := range calls {
		calls[i] = c.call(messages(2))
		calls[i]["campaignId"], calls[i]["name"] = id, name
	}
	if exists {
		first := c.call(messages(1))
		first["campaignId"], first["name"] = id, name
		if got := c.dispatch(first); got.status != http.StatusAccepted {
			c.t.Fatalf("first batch: status %d: %s", got.status, got.body)
		}
	}
	return calls
}

func TestDispatch_ConcurrentBatches(t *testing.T) {
	t.Parallel()
	for name, exists := range map[string]bool{"existing campaign": true, "new campaign": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t).ownTenant() // without a webhook for events
			calls := c.conflictingCalls(exists)
			var all []fields
			for i, call := range calls {
				call["batch"] = fmt.Sprint("batch ", i)
				all = append(all, call["messages"].([]fields)...)
			}
			for i, got := range c.dispatchConcurrently(calls) {
				if got.status != http.StatusAccepted || got.Accepted != 2 {
					t.Errorf("call %d: status %d: %s", i, got.status, got.body)
				}
			}
			c.eventually(5*time.Minute, "sent", func() bool { return c.sentOnce(all) })
		})
	}
}

// Repeated calls with one idempotency key count as one call, also if the response is too
// large for a row and stored in the bucket.
func TestDispatch_ConcurrentIdempotentCalls(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]int{"valid": 0, "many rejected numbers": 100} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t)
			all := messages(2)
			call := c.call(append(invalidMessages(refused), all...))
			replies := c.dispatchConcurrently(slices.Repeat([]fields{call}, concurrentCalls), "Idempotency-Key", rand.Text())
			for i, got := range replies {
				if got.status != http.StatusAccepted || got.Rejected != refused || !cmp.Equal(got.body, replies[0].body) {
					t.Errorf("call %d: status %d: %s, want the same response for all calls", i, got.status, got.body)
				}
			}
			c.eventually(5*time.Minute, "sent", func() bool { return c.sentOnce(all) })
		})
	}
}

// invalidMessages returns messages with invalid numbers.
func invalidMessages(n int) []fields {
	all := messages(n)
	for _, m := range all {
		m["phone"] = "123"
	}
	return all
}

// dispatchConcurrently posts all calls concurrently and returns the responses in the order
// of the calls.
func (c *client) dispatchConcurrently(calls []fields, headers ...string) []reply {
	c.t.Helper()
	c.token() // fill the cache first
	replies := make([]reply, len(calls))
	start := make(chan struct{})
	var running sync.WaitGroup
	for i, call := range calls {
		running.Go(func() {
			<-start
			replies[i] = c.dispatch(call, headers...)
		})
	}
	close(start)
	running.Wait()
	return replies
}

// checkSentOnly waits until the accepted call's messages are sent. It fails the test if a
// message of another call was sent.
func (c *client) checkSentOnly(calls []fields, winner int) {
	c.t.Helper()
	won := calls[winner]["messages"].([]fields)
	c.eventually(5*time.Minute, "messages of the accepted call sent", func() bool { return c.sentOnce(won) })
	for i, call := range calls {
		own := call["messages"].([]fields)[:2] // a third message is common to all calls
		if n := c.accepted(own); i != winner && n > 0 {
			c.t.Errorf("call %d was rejected, but %d of its messages were sent", i, n)
		}
	}
}
