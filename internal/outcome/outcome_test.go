package outcome_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/outcome"
)

var errBroken = errors.New("broken")

// books keeps one batch's books, as a table does, and can lose races.
type books struct {
	books      campaign.Books
	lose       int // so many races, to somebody who enters rival
	rival      campaign.Change
	entered    []campaign.Change
	frames     []int // as asked for last
	finished   int
	readErr    error
	enterErr   error
	finishErr  error
	enterCalls int
}

func newBooks() *books {
	return &books{books: campaign.Books{Frames: map[int]campaign.FrameState{}}}
}

func (b *books) Books(_ context.Context, _ campaign.BatchKey, frames []int) (campaign.Books, error) {
	b.frames = frames
	read := campaign.Books{Head: b.books.Head, Frames: map[int]campaign.FrameState{}}
	for _, f := range frames {
		read.Frames[f] = b.books.Frames[f]
	}
	return read, b.readErr
}

func (b *books) Enter(_ context.Context, _ campaign.Batch, read campaign.Books, news []campaign.Change) error {
	b.enterCalls++
	switch {
	case b.enterErr != nil:
		return b.enterErr
	case b.lose > 0:
		b.lose--
		b.write(campaign.Books{Head: b.books.Head, Frames: b.books.Frames}.News([]campaign.Change{b.rival}))
		return campaign.ErrLostRace
	case read.Head.Ordinal != b.books.Head.Ordinal:
		return campaign.ErrLostRace
	}
	b.write(news)
	return nil
}

func (b *books) write(news []campaign.Change) {
	b.books.Head = b.books.HeadAfter(news, 1)
	for _, c := range news {
		state := b.books.Frames[c.Index/campaign.FrameSize]
		if state.Outcomes == nil {
			state.Outcomes = map[int]campaign.Outcome{}
		}
		state.Outcomes[c.Index] = c.Outcome
		b.books.Frames[c.Index/campaign.FrameSize] = state
		b.entered = append(b.entered, c)
	}
}

func (b *books) FinishBatch(context.Context, campaign.BatchRef) (bool, error) {
	b.finished++
	return true, b.finishErr
}

func sent(i int) campaign.Change {
	return campaign.Change{Index: i, Outcome: campaign.OutcomeSent, At: time.Unix(int64(i), 0)}
}

var failed = campaign.Change{Index: 0, Outcome: campaign.OutcomeFailed, Code: "unreachable"}

func TestRecord(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		prepare  func(b *books)
		changes  []campaign.Change
		entered  []campaign.Change
		frames   []int
		finished int
		err      error
	}{
		"news": {nil, []campaign.Change{sent(150), failed}, []campaign.Change{sent(150), failed}, []int{0, 1}, 0, nil},
		"the same again": {
			func(b *books) { b.write([]campaign.Change{sent(0)}) },
			[]campaign.Change{sent(0), failed},
			[]campaign.Change{sent(0)},
			[]int{0},
			0, nil,
		},
		"the last of the batch": {
			func(b *books) { b.write([]campaign.Change{sent(0), sent(1)}) },
			[]campaign.Change{sent(2)},
			[]campaign.Change{sent(0), sent(1), sent(2)},
			[]int{0},
			1, nil,
		},
		"the last of the batch, again": {
			func(b *books) { b.write([]campaign.Change{sent(0), sent(1), sent(2)}) },
			[]campaign.Change{sent(2)},
			[]campaign.Change{sent(0), sent(1), sent(2)},
			[]int{0},
			1, nil,
		},
		"a race is lost to the same news": {
			func(b *books) { b.lose, b.rival = 3, sent(0) },
			[]campaign.Change{failed, sent(1)},
			[]campaign.Change{sent(0), sent(1)},
			[]int{0},
			0, nil,
		},
		"too many races are lost": {
			func(b *books) { b.lose, b.rival = 1000, sent(7) },
			[]campaign.Change{sent(1)},
			[]campaign.Change{sent(7)},
			[]int{0},
			0, campaign.ErrLostRace,
		},
		"the books cannot be read":    {func(b *books) { b.readErr = errBroken }, []campaign.Change{sent(1)}, nil, []int{0}, 0, errBroken},
		"the books cannot be written": {func(b *books) { b.enterErr = errBroken }, []campaign.Change{sent(1)}, nil, []int{0}, 0, errBroken},
		"the batch cannot be finished": {
			func(b *books) { b.finishErr = errBroken },
			[]campaign.Change{sent(0), sent(1), sent(2)},
			[]campaign.Change{sent(0), sent(1), sent(2)},
			[]int{0},
			1, nil,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // lost races are waited out
				store := newBooks()
				if tt.prepare != nil {
					tt.prepare(store)
				}
				err := outcome.Recorder{Store: store}.Record(t.Context(), campaign.Batch{Accepted: 3}, tt.changes)
				if !errors.Is(err, tt.err) {
					t.Errorf("error %v, want %v", err, tt.err)
				}
				if diff := cmp.Diff(tt.entered, store.entered); diff != "" {
					t.Errorf("entered (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.frames, store.frames); diff != "" || store.finished != tt.finished {
					t.Errorf("finished %d times, want %d; frames asked for:\n%s", store.finished, tt.finished, diff)
				}
			})
		})
	}
}

func TestRecordStopsWithItsCall(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	store := newBooks()
	store.lose, store.rival = 1000, sent(7)
	err := outcome.Recorder{Store: store}.Record(ctx, campaign.Batch{Accepted: 3}, []campaign.Change{sent(1)})
	if !errors.Is(err, context.Canceled) || store.enterCalls != 1 {
		t.Errorf("error %v after %d tries", err, store.enterCalls)
	}
}
