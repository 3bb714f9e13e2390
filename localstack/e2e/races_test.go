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

	"campaign-dispatch/localstack/uuid"
)

const racers = 12

// Of racing calls of which only one can be right, one is accepted, and what the
// provider gets is that one's.
func TestOneOfTheRacingCallsWins(t *testing.T) {
	t.Parallel()
	shared := messages(1)[0]
	for name, test := range map[string]struct {
		exists  bool // the campaign, before the race
		prepare func(call fields, i int)
		status  int // of the others
		code    string
	}{
		"the same new campaign and no batch": {
			status: http.StatusBadRequest, code: "batch_required",
		},
		"the same name": {
			prepare: func(call fields, _ int) { call["campaignId"] = uuid.New() },
			status:  http.StatusConflict, code: "campaign_name_taken",
		},
		"the same batch": {
			exists:  true,
			prepare: func(call fields, _ int) { call["batch"] = "second" },
			status:  http.StatusConflict, code: "batch_already_used",
		},
		"batches that share a number": {
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
			calls := c.alike(test.exists)
			for i, call := range calls {
				if test.prepare != nil {
					test.prepare(call, i)
				}
			}
			replies := c.race(calls)
			winner := slices.IndexFunc(replies, func(r reply) bool { return r.status == http.StatusAccepted })
			if winner < 0 {
				t.Fatalf("nobody won: %d %s", replies[0].status, replies[0].body)
			}
			for i, got := range replies {
				if i != winner && (got.status != test.status || got.Code != test.code) {
					t.Errorf("call %d, when call %d had won: answered %d %s, want %d %s", i, winner, got.status, got.body, test.status, test.code)
				}
			}
			c.checkSentOnly(calls, winner)
		})
	}
}

// alike returns as many calls as race, to one campaign, with different messages.
// Where it is to exist it has a batch already.
func (c *client) alike(exists bool) []fields {
	c.t.Helper()
	id, name := uuid.New(), "race "+rand.Text()
	calls := make([]fields, racers)
	for i := range calls {
		calls[i] = c.call(messages(2))
		calls[i]["campaignId"], calls[i]["name"] = id, name
	}
	if exists {
		first := c.call(messages(1))
		first["campaignId"], first["name"] = id, name
		if got := c.dispatch(first); got.status != http.StatusAccepted {
			c.t.Fatalf("the first batch: answered %d %s", got.status, got.body)
		}
	}
	return calls
}

func TestRacingBatchesWithDisjointNumbersAreAllAccepted(t *testing.T) {
	t.Parallel()
	for name, exists := range map[string]bool{"they extend a campaign": true, "one of them creates it": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t)
			calls := c.alike(exists)
			var all []fields
			for i, call := range calls {
				call["batch"] = fmt.Sprint("batch ", i)
				all = append(all, call["messages"].([]fields)...)
			}
			for i, got := range c.race(calls) {
				if got.status != http.StatusAccepted || got.Accepted != 2 {
					t.Errorf("call %d: answered %d %s", i, got.status, got.body)
				}
			}
			c.eventually(5*time.Minute, "sent", func() bool { return c.sentOnce(all) })
		})
	}
}

// The same call, sent again while the first is under way, is one call: also where
// the answer is too large for a row, and is kept beside it.
func TestRacingRepetitionsOfAnIdempotentCallAreOne(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]int{"clean": 0, "with many numbers refused": 100} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t)
			all := messages(2)
			call := c.call(append(wrongNumbers(refused), all...))
			replies := c.race(slices.Repeat([]fields{call}, racers), "Idempotency-Key", rand.Text())
			for i, got := range replies {
				if got.status != http.StatusAccepted || got.Rejected != refused || !cmp.Equal(got.body, replies[0].body) {
					t.Errorf("call %d: answered %d %s, want what all were answered", i, got.status, got.body)
				}
			}
			c.eventually(5*time.Minute, "sent", func() bool { return c.sentOnce(all) })
		})
	}
}

// wrongNumbers are messages that are refused.
func wrongNumbers(n int) []fields {
	all := messages(n)
	for _, m := range all {
		m["phone"] = "123"
	}
	return all
}

// race posts all calls at once and returns the answers in their order.
func (c *client) race(calls []fields, headers ...string) []reply {
	c.t.Helper()
	c.token() // before the race
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

// checkSentOnly waits until the winner's messages are sent, and fails the test
// where one of another call was.
func (c *client) checkSentOnly(calls []fields, winner int) {
	c.t.Helper()
	won := calls[winner]["messages"].([]fields)
	c.eventually(5*time.Minute, "the winner's messages sent", func() bool { return c.sentOnce(won) })
	for i, call := range calls {
		own := call["messages"].([]fields)[:2] // the third is everybody's
		if n := c.accepted(own); i != winner && n > 0 {
			c.t.Errorf("call %d was refused, and %d of its messages were sent", i, n)
		}
	}
}
