package dispatch_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"testing"

	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/dispatch/acceptance"
)

const racers = 12

// race posts all bodies concurrently, each through its own service, and returns the
// answers in order.
func race(b *bench, bodies []string, headers ...string) []reply {
	b.t.Helper()
	replies := make([]reply, len(bodies))
	var ready, done sync.WaitGroup
	ready.Add(1)
	for i, body := range bodies {
		service := *b.Service
		service.SeenNumbers = &dispatch.SeenNumbers{Limit: 1 << 20}
		process := *b
		process.Service = &service
		done.Go(func() {
			ready.Wait()
			replies[i] = process.post(body, headers...)
		})
	}
	ready.Done()
	done.Wait()
	return replies
}

// winner checks that exactly one call was accepted and that the others returned one of
// the codes.
func winner(t *testing.T, replies []reply, codes ...string) int {
	t.Helper()
	won := -1
	for i, r := range replies {
		switch {
		case r.status == http.StatusAccepted && won >= 0:
			t.Fatalf("calls %d and %d were both accepted", won, i)
		case r.status == http.StatusAccepted:
			won = i
		default:
			found := false
			for _, code := range codes {
				found = found || r.Code == code
			}
			if !found {
				t.Errorf("call %d: %d %q, want one of %v", i, r.status, r.Code, codes)
			}
		}
	}
	if won < 0 {
		t.Fatal("no call was accepted")
	}
	return won
}

func TestServeDispatch_ConcurrentCalls(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before bool // the campaign already exists
		call   func(id string, i int) fields
		codes  []string
	}{
		"the same new campaignId and no batch": {false, func(id string, i int) fields {
			return fields{"campaignId": id, "name": "n", "messages": messages(11987654321+i, 1)}
		}, []string{"batch_required"}},
		"the same name": {false, func(_ string, i int) fields {
			return fields{"campaignId": newUUID(), "name": "n", "messages": messages(11987654321+i, 1)}
		}, []string{"campaign_name_taken"}},
		"the same batch": {true, func(id string, i int) fields {
			return fields{"campaignId": id, "name": "n", "batch": "b", "messages": messages(11987654321+i, 1)}
		}, []string{"batch_already_used"}},
		"batches that share one number": {true, func(id string, i int) fields {
			shared := append(messages(11987654321, 1), messages(21987654321+i, 1)...)
			return fields{"campaignId": id, "name": "n", "batch": strconv.Itoa(i), "messages": shared}
		}, []string{"number_already_dispatched"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			id := newUUID()
			if test.before {
				b.post(b.body(fields{"campaignId": id, "name": "n", "messages": messages(31987654321, 1)})).accepted(t)
				b.handoffs.batches = nil
			}
			bodies := make([]string, racers)
			calls := make([]fields, racers)
			for i := range bodies {
				calls[i] = test.call(id, i)
				bodies[i] = b.body(calls[i])
			}
			won := winner(t, race(b, bodies), test.codes...)
			b.sendsOnly(calls[won]["messages"].([]fields))
		})
	}
}

// sendsOnly checks that the one scheduled payload holds exactly these messages.
func (b *bench) sendsOnly(want []fields) {
	b.t.Helper()
	if len(b.handoffs.batches) != 1 {
		b.t.Fatalf("%d batches scheduled, want 1", len(b.handoffs.batches))
	}
	batch := b.handoffs.batches[0]
	body, err := b.Blobs.Get(b.t.Context(), batch.Payload)
	b.must(err)
	sent, err := payload.Decode(body[batch.Offsets[0]:batch.Offsets[1]])
	b.must(err)
	if len(sent) != len(want) {
		b.t.Fatalf("%d messages, want %d", len(sent), len(want))
	}
	for i, m := range sent {
		if m.Phone.String() != "+55"+want[i]["phone"].(string) {
			b.t.Errorf("message %d is not the winner's", i)
		}
	}
}

func TestServeDispatch_ConcurrentDisjointNumbers(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]bool{"extending": true, "creating": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			id := newUUID()
			if before {
				b.post(b.body(fields{"campaignId": id, "name": "n", "messages": messages(31987654321, 1)})).accepted(t)
			}
			bodies := make([]string, racers)
			for i := range bodies {
				bodies[i] = b.body(fields{"campaignId": id, "name": "n", "batch": strconv.Itoa(i), "messages": messages(11987650000+100*i, 100)})
			}
			for i, r := range race(b, bodies) {
				if r.status != http.StatusAccepted {
					t.Errorf("call %d: %d %s", i, r.status, r.body)
				}
			}
		})
	}
}

func TestServeDispatch_ConcurrentIdempotencyKey(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bodies := make([]string, racers)
	bodies[0] = b.body(nil)
	for i := range bodies {
		bodies[i] = bodies[0]
	}
	for i, r := range race(b, bodies, "Idempotency-Key", "k") {
		if r.status != http.StatusAccepted {
			t.Errorf("call %d: %d %s", i, r.status, r.body)
		}
	}
	if len(b.handoffs.batches) != 1 {
		t.Errorf("%d batches scheduled, want 1", len(b.handoffs.batches))
	}
}

func TestServeDispatch_SchedulingFails(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.handoffs.fail = errors.New("the queue is away")
	b.post(b.body(nil)).accepted(t)
	if next := b.handoffs.batches[0].NextCheck; next.Sub(b.now) != b.SweepDelay {
		t.Errorf("sweep checks the batch %v after its due time, want %v", next.Sub(b.now), b.SweepDelay)
	}
}

// unsure is a store whose transaction returns an error that leaves the outcome unknown.
type unsure struct {
	dispatch.Store
	committed bool
}

func (u unsure) Accept(ctx context.Context, a acceptance.Command, token string) error {
	if u.committed {
		if err := u.Store.Accept(ctx, a, token); err != nil {
			return err
		}
	}
	return errors.New("the answer was lost")
}

func TestServeDispatch_UnknownOutcome(t *testing.T) {
	t.Parallel()
	for name, committed := range map[string]bool{"committed": true, "not committed": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			body := b.body(nil)
			b.Store = unsure{b.store, committed}
			got := b.post(body, "Idempotency-Key", "k")
			got.want(t, http.StatusServiceUnavailable, "try_again")
			if got.header.Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
			b.Store = b.store
			b.post(body, "Idempotency-Key", "k").accepted(t)
		})
	}
}

// behind is a store whose first read saw the name of a campaign that was being created, but not yet
// its other rows.
type behind struct {
	dispatch.Store
	read *bool
}

func (b behind) Snapshot(ctx context.Context, q acceptance.Query) (acceptance.State, error) {
	snapshot, err := b.Store.Snapshot(ctx, q)
	if !*b.read {
		*b.read, snapshot.Meta, snapshot.Sets = true, nil, nil
	}
	return snapshot, err
}

// A campaign's own name is not another campaign's, however its rows are read.
func TestServeDispatch_CampaignCreatedMeanwhile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	call := fields{"campaignId": newUUID(), "name": "n", "batch": "1"}
	b.post(b.body(call)).accepted(t)
	b.Store = behind{b.store, new(bool)}
	b.post(b.body(merge(call, fields{"batch": "2", "messages": messages(21987654321, 1)}))).accepted(t)
	b.Store = behind{b.store, new(bool)}
	b.post(b.body(merge(call, fields{"campaignId": newUUID()}))).want(t, http.StatusConflict, "campaign_name_taken")
}

// lossy is a store that has lost its packed sets.
type lossy struct{ dispatch.Store }

func (l lossy) Snapshot(ctx context.Context, q acceptance.Query) (acceptance.State, error) {
	snapshot, err := l.Store.Snapshot(ctx, q)
	snapshot.Sets = nil
	return snapshot, err
}

func TestServeDispatch_IncompleteSets(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	call := fields{"campaignId": newUUID(), "name": "n", "batch": "1"}
	b.post(b.body(call)).accepted(t)
	b.SeenNumbers = &dispatch.SeenNumbers{Limit: 1 << 20}
	b.Store = lossy{b.store}
	b.post(b.body(merge(call, fields{"batch": "2", "messages": messages(21987654321, 1)}))).want(t, http.StatusServiceUnavailable, "try_again")
}
