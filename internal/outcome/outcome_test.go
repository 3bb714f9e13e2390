package outcome_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/outcome"
	"campaign-dispatch/internal/webhook/delivery"
)

var errBroken = errors.New("broken")

// ledger stores one batch's ledger like a table. It can simulate conflicts.
type batchLedger struct {
	outcome.EventStore

	sending    sync.Mutex
	ledger     ledger.Head
	state      campaign.BatchState
	lose       int // so many races, to somebody who enters rival
	rival      campaign.Change
	entered    []campaign.Change
	finished   int
	readErr    error
	enterErr   error
	finishErr  error
	queueErr   error
	enterCalls int
	completed  int
	toCome     int // parts of the campaign's file
	holding    bool
	closed     int
	pausedAt   time.Time // of the campaign

	pausesEnded []time.Time
	endPauseErr error
	released    campaign.Money
	nextCheck   time.Time
	waiting     bool
	queued      []string
}

func newBatchLedger() *batchLedger { return &batchLedger{} }

func (b *batchLedger) LedgerHead(context.Context, campaign.BatchKey) (ledger.Head, error) {
	return b.ledger, b.readErr
}

func (b *batchLedger) AppendLedger(_ context.Context, _ campaign.Batch, read ledger.Head, news []campaign.Change) (ledger.Head, error) {
	b.enterCalls++
	switch {
	case b.enterErr != nil:
		return read, b.enterErr
	case b.lose > 0:
		b.lose--
		b.write(b.ledger.NewChanges([]campaign.Change{b.rival}))
		return read, campaign.ErrLostRace
	case read.Sequence != b.ledger.Sequence:
		return read, campaign.ErrLostRace
	}
	b.write(news)
	return b.ledger, nil
}

func (b *batchLedger) Batch(_ context.Context, ref campaign.BatchRef) (campaign.Batch, error) {
	return campaign.Batch{BatchRef: ref, State: b.state}, nil
}

func (b *batchLedger) write(news []campaign.Change) {
	b.ledger = b.ledger.After(campaign.MaxMessages, news)
	b.entered = append(b.entered, news...)
}

func (b *batchLedger) MarkSent(_ context.Context, _ campaign.BatchRef, next time.Time) (bool, error) {
	b.finished++
	b.nextCheck = next
	return true, b.finishErr
}

func (b *batchLedger) CompleteBatch(_ context.Context, _ campaign.Batch, unused campaign.Money, check time.Time) (bool, error) {
	b.completed++
	b.released += unused
	b.nextCheck = check
	return true, nil
}

func (b *batchLedger) Progress(context.Context, campaign.ID) (campaign.Progress, error) {
	return campaign.Progress{Completed: b.completed, Batches: 2, PartsToCome: b.toCome, Holding: b.holding, PausedAt: b.pausedAt}, nil
}

func (b *batchLedger) EndPause(_ context.Context, _ campaign.ID, p campaign.Progress) error {
	b.pausesEnded = append(b.pausesEnded, p.PausedAt)
	return b.endPauseErr
}

func (b *batchLedger) PostponeCheck(_ context.Context, read campaign.Batch, next time.Time) (bool, error) {
	if !read.NextCheck.Equal(b.nextCheck) {
		return false, nil
	}
	b.nextCheck, b.waiting = next, read.Waits.Parts
	return true, nil
}

func (b *batchLedger) CloseBatch(_ context.Context, _ campaign.Batch, unused campaign.Money) error {
	b.closed++
	b.released += unused
	return nil
}

func (b *batchLedger) Endpoints(context.Context, string) ([]delivery.Endpoint, error) {
	return []delivery.Endpoint{{ID: "on"}, {ID: "off", OffReason: "gone"}}, nil
}

func (b *batchLedger) AddDeliveries(context.Context, []delivery.Delivery) error { return nil }

func (b *batchLedger) Put(context.Context, string, []byte, string) error { return nil }

func (b *batchLedger) SendAll(_ context.Context, _ string, bodies [][]byte) error {
	b.sending.Lock()
	defer b.sending.Unlock()
	for _, body := range bodies {
		b.queued = append(b.queued, string(body))
	}
	return b.queueErr
}

func (b *batchLedger) recorder() *outcome.Recorder {
	return &outcome.Recorder{
		Store: b, Blobs: b, Notify: b, SweepAfter: time.Minute, Now: time.Now,
	}
}

func sent(i int) campaign.Change {
	return campaign.Change{Index: i, Outcome: campaign.OutcomeSent, At: time.Unix(int64(i), 0)}
}

var failed = campaign.Change{Index: 0, Outcome: campaign.OutcomeFailed, Code: "unreachable", First: true}

func TestRecord(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		prepare  func(b *batchLedger)
		changes  []campaign.Change
		entered  []campaign.Change
		finished int
		err      error
	}{
		"news": {nil, []campaign.Change{sent(150), failed}, []campaign.Change{sent(150), failed}, 0, nil},
		"the same again": {
			func(b *batchLedger) { b.write([]campaign.Change{sent(0)}) },
			[]campaign.Change{sent(0), failed},
			[]campaign.Change{sent(0)},
			0, nil,
		},
		"the last of the batch": {
			func(b *batchLedger) { b.write([]campaign.Change{sent(0), sent(1)}) },
			[]campaign.Change{sent(2)},
			[]campaign.Change{sent(0), sent(1), sent(2)},
			1, nil,
		},
		"the last of the batch, again": {
			func(b *batchLedger) { b.write([]campaign.Change{sent(0), sent(1), sent(2)}) },
			[]campaign.Change{sent(2)},
			[]campaign.Change{sent(0), sent(1), sent(2)},
			1, nil,
		},
		"the last of the batch, again, which is sent": {
			func(b *batchLedger) {
				b.write([]campaign.Change{sent(0), sent(1), sent(2)})
				b.state = campaign.BatchSent
			},
			[]campaign.Change{sent(2)},
			[]campaign.Change{sent(0), sent(1), sent(2)},
			0, nil,
		},
		"a race is lost to the same news": {
			func(b *batchLedger) { b.lose, b.rival = 3, sent(0) },
			[]campaign.Change{failed, sent(1)},
			[]campaign.Change{sent(0), sent(1)},
			0, nil,
		},
		"too many races are lost": {
			func(b *batchLedger) { b.lose, b.rival = 1000, sent(7) },
			[]campaign.Change{sent(1)},
			[]campaign.Change{sent(7)},
			0, campaign.ErrLostRace,
		},
		"the ledger cannot be read":    {func(b *batchLedger) { b.readErr = errBroken }, []campaign.Change{sent(1)}, nil, 0, errBroken},
		"the ledger cannot be written": {func(b *batchLedger) { b.enterErr = errBroken }, []campaign.Change{sent(1)}, nil, 0, errBroken},
		"the batch cannot be finished": {
			func(b *batchLedger) { b.finishErr = errBroken },
			[]campaign.Change{sent(0), sent(1), sent(2)},
			[]campaign.Change{sent(0), sent(1), sent(2)},
			1, nil,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // conflicts are retried with backoff
				store := newBatchLedger()
				if tt.prepare != nil {
					tt.prepare(store)
				}
				err := store.recorder().Record(t.Context(), campaign.Batch{Accepted: 3}, tt.changes)
				if !errors.Is(err, tt.err) {
					t.Errorf("error %v, want %v", err, tt.err)
				}
				if diff := cmp.Diff(tt.entered, store.entered); diff != "" {
					t.Errorf("entered (-want +got):\n%s", diff)
				}
				if store.finished != tt.finished {
					t.Errorf("finished %d times, want %d", store.finished, tt.finished)
				}
				if store.finished > 0 && !store.nextCheck.Equal(time.Now().Add(26*time.Hour)) {
					t.Errorf("the sent batch is looked at in %v", time.Until(store.nextCheck))
				}
				if len(store.queued) > 0 {
					t.Errorf("queued: %v", store.queued)
				}
			})
		})
	}
}

func TestRecord_ContextEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	store := newBatchLedger()
	store.lose, store.rival = 1000, sent(7)
	err := store.recorder().Record(ctx, campaign.Batch{Accepted: 3}, []campaign.Change{sent(1)})
	if !errors.Is(err, context.Canceled) || store.enterCalls != 1 {
		t.Errorf("error %v after %d tries", err, store.enterCalls)
	}
}

func TestRecord_LastMessage(t *testing.T) {
	t.Parallel()
	store, b := newBatchLedger(), campaign.Batch{Accepted: 2}
	store.write([]campaign.Change{sent(0), sent(1), failed})
	recorder := store.recorder()
	delivered := func(i int) campaign.Change {
		return campaign.Change{Index: i, Outcome: campaign.OutcomeDelivered, At: time.Unix(9, 0)}
	}
	read := campaign.Change{Index: 0, Outcome: campaign.OutcomeRead, At: time.Unix(10, 0)}
	for i, step := range []struct {
		change    campaign.Change
		completed int
	}{{delivered(0), 0}, {delivered(1), 1}, {read, 1}} {
		if err := recorder.Record(t.Context(), b, []campaign.Change{step.change}); err != nil {
			t.Fatal(err)
		}
		if store.completed != step.completed || store.closed != step.completed || store.finished > 0 {
			t.Errorf("after step %d the batch was completed %d times, closed %d, finished %d", i, store.completed, store.closed, store.finished)
		}
	}
}

// A completed batch is checked again while only parts of its campaign's file are to come.
func TestComplete_PartsToCome(t *testing.T) {
	t.Parallel()
	b := newBatchLedger()
	b.completed, b.toCome = 1, 1
	now := time.Unix(1000, 0)
	r := b.recorder()
	r.Now = func() time.Time { return now }
	complete := func() {
		t.Helper()
		if awaits, err := r.Complete(t.Context(), campaign.Batch{Accepted: 2}); err != nil || awaits != (b.toCome > 0) {
			t.Fatalf("complete: awaits parts %t, %v", awaits, err)
		}
	}
	complete()
	if b.closed > 0 || !b.nextCheck.After(now) || !b.waiting {
		t.Errorf("the batch was closed %d times, its next check is at %v, it waits: %t", b.closed, b.nextCheck, b.waiting)
	}
	if b.holding = true; b.nextCheck.Equal(now.Add(time.Hour)) {
		t.Error("it is checked as rarely as one that waits for a person")
	}
	if complete(); !b.nextCheck.Equal(now.Add(time.Hour)) {
		t.Errorf("its next check is at %v while a person has to open a wave, want an hour later", b.nextCheck)
	}
	b.toCome = 0
	complete()
	if b.closed != 1 {
		t.Errorf("the batch was closed %d times, want once", b.closed)
	}
}

// The last batch of a campaign ends its pause. If that fails, sweep completes the batch again.
func TestComplete_Paused(t *testing.T) {
	t.Parallel()
	since := time.Unix(500, 0)
	for name, test := range map[string]struct {
		pausedAt  time.Time
		completed int // batches before this one
		toCome    int // parts
		err       error
		ended     []time.Time
		closed    int
	}{
		"the last batch":         {since, 1, 0, nil, []time.Time{since}, 1},
		"not paused":             {time.Time{}, 1, 0, nil, nil, 1},
		"another batch is left":  {since, 0, 0, nil, nil, 1},
		"parts are to come":      {since, 1, 1, nil, nil, 0},
		"the pause does not end": {since, 1, 0, errBroken, []time.Time{since}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBatchLedger()
			b.pausedAt, b.completed, b.toCome, b.endPauseErr = test.pausedAt, test.completed, test.toCome, test.err
			if _, err := b.recorder().Complete(t.Context(), campaign.Batch{Accepted: 2}); !errors.Is(err, test.err) {
				t.Errorf("error %v, want %v", err, test.err)
			}
			if diff := cmp.Diff(test.ended, b.pausesEnded); diff != "" || b.closed != test.closed {
				t.Errorf("closed %d times, want %d; pauses that ended (-want +got):\n%s", b.closed, test.closed, diff)
			}
		})
	}
}

// A batch that is closed releases what it reserved for messages that were not delivered.
func TestClose(t *testing.T) {
	t.Parallel()
	prices := campaign.Prices{Basic: 10, Single: 10}
	for name, test := range map[string]struct {
		batch    campaign.Batch
		readErr  error
		released campaign.Money
		closed   int
		err      error
	}{
		"one of three delivered": {batch: campaign.Batch{Accepted: 3, Prices: prices, Reserved: 30}, released: 20, closed: 1},
		"no reservation":         {batch: campaign.Batch{Accepted: 3, Prices: prices}, readErr: errBroken, closed: 1}, // reads no outcomes
		"outcomes not readable":  {batch: campaign.Batch{Accepted: 3, Prices: prices, Reserved: 30}, readErr: errBroken, err: errBroken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBatchLedger()
			b.write([]campaign.Change{sent(0), sent(1), {Index: 1, Outcome: campaign.OutcomeDelivered, At: time.Unix(2, 0)}})
			b.readErr = test.readErr
			if err := b.recorder().Close(t.Context(), test.batch); !errors.Is(err, test.err) {
				t.Errorf("error %v, want %v", err, test.err)
			}
			if b.released != test.released || b.closed != test.closed {
				t.Errorf("released %d and closed %d times, want %d and %d", b.released, b.closed, test.released, test.closed)
			}
		})
	}
}
