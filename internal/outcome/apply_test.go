package outcome_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/outcome"
)

// released is a batch of three messages with an agent, and a clock.
type released struct {
	*batchLedger
	batch campaign.Batch
	reads int // of the batch
	now   time.Time
	days  campaign.DayCounts // the sum of all days
}

func newReleased() *released {
	r := &released{batchLedger: newBatchLedger(), now: time.Unix(1000, 0)}
	r.batch = campaign.Batch{Accepted: 3, AcceptedAt: r.now, AgentID: "agent", State: campaign.BatchSending}
	return r
}

func (r *released) FindBatch(context.Context, campaign.BatchKey) (campaign.Batch, error) {
	r.reads++
	return r.batch, nil
}

func (r *released) Batch(context.Context, campaign.BatchRef) (campaign.Batch, error) {
	r.reads++
	return r.batch, nil
}

func (r *released) AddDay(_ context.Context, _, _ string, counts campaign.DayCounts) error {
	r.days = r.days.Plus(counts)
	return nil
}

// process returns a warm process that receives events one at a time.
func (r *released) process() func(t *testing.T, kind reaction.EventKind, index int) error {
	recorder := r.recorder()
	recorder.Store, recorder.Days, recorder.Now = r, r, func() time.Time { return r.now }
	applier := &outcome.Applier{Store: r, Recorder: recorder}
	return func(t *testing.T, kind reaction.EventKind, index int) error {
		t.Helper()
		task := reaction.EventTask{Kind: kind, AgentID: "agent", MessageID: r.batch.Key.MessageID(index), At: r.now}
		return applier.Handle(t.Context(), []reaction.EventTask{task})[0]
	}
}

// A process reads a batch once, and later only the fields that can change.
func TestHandle_KnownBatch(t *testing.T) {
	t.Parallel()
	r := newReleased()
	apply := r.process()
	for index, kind := range []reaction.EventKind{reaction.EventDelivered, reaction.EventRead} {
		if err := apply(t, kind, index); err != nil || r.reads != 1 {
			t.Errorf("event %d: error %v, the batch was read %d times", index, err, r.reads)
		}
	}
	r.batch.CancelledAt, r.batch.Revoke = r.now, true
	r.now = r.now.Add(time.Minute)
	if err := apply(t, reaction.EventExpired, 2); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range r.entered {
		got = append(got, fmt.Sprint(c.Index, " ", c.Outcome, " ", c.Code))
	}
	if diff := cmp.Diff([]string{"0 delivered ", "1 read ", "2 revoked cancelled"}, got); diff != "" {
		t.Errorf("entered (-want +got):\n%s", diff)
	}
}

// The event that completes a batch frees the price of the messages that were not delivered, also if the campaign
// awaits parts of its file.
func TestHandle_FreesReservation(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string]int{"last batch": 0, "parts to come": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReleased()
			r.toCome, r.completed = parts, parts // of two batches
			r.batch.Prices, r.batch.Classes = campaign.Prices{Basic: 10, Single: 20}, campaign.Classes{Basic: 1, Bits: []byte{1}}
			r.batch.Reserved, r.batch.ReservedOn = 50, "2026-11-30"
			apply := r.process()
			for index, kind := range []reaction.EventKind{reaction.EventDelivered, reaction.EventExpired, reaction.EventDelivered} {
				if r.released != 0 {
					t.Errorf("%d freed before event %d", r.released, index)
				}
				if err := apply(t, kind, index); err != nil {
					t.Fatal(err)
				}
			}
			if r.released != 20 || r.completed != 1+parts || r.closed != 1-parts {
				t.Errorf("freed %d, completed %d times, closed %d times", r.released, r.completed, r.closed)
			}
		})
	}
}

// The messages of a test do not count on any day, and those of other batches do.
func TestHandle_TestNotCounted(t *testing.T) {
	t.Parallel()
	for test, want := range map[bool]campaign.DayCounts{false: {Sent: 2, Delivered: 2}, true: {}} {
		r := newReleased()
		r.batch.Test = test
		apply := r.process()
		for index := range 2 {
			if err := apply(t, reaction.EventDelivered, index); err != nil {
				t.Fatal(err)
			}
		}
		if r.days != want {
			t.Errorf("a batch that is a test: %t counts %+v, want %+v", test, r.days, want)
		}
	}
}

// An event of an expired batch counts as an event of an unknown message.
func TestHandle_ExpiredBatch(t *testing.T) {
	t.Parallel()
	r := newReleased()
	apply := r.process()
	if err := apply(t, reaction.EventDelivered, 0); err != nil {
		t.Fatal(err)
	}
	r.now = r.batch.ExpiresAt()
	if err := apply(t, reaction.EventRead, 0); err == nil || len(r.entered) != 1 {
		t.Errorf("error %v, %d changes entered", err, len(r.entered))
	}
}
