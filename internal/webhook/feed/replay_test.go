package feed_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/webhook/delivery"
	"campaign-dispatch/internal/webhook/feed"
)

var errLost = errors.New("no connection")

// logs are the logs of batches, in their own order.
type logs struct {
	keys    []campaign.BatchKey
	entries map[campaign.BatchKey][]ledger.Entry
	err     error // after the last key
}

func (l logs) LedgersSince(context.Context, time.Time) iter.Seq2[campaign.BatchKey, error] {
	return func(yield func(campaign.BatchKey, error) bool) {
		for _, key := range l.keys {
			if !yield(key, nil) {
				return
			}
		}
		if l.err != nil {
			yield(campaign.BatchKey{}, l.err)
		}
	}
}

func (l logs) Entries(_ context.Context, key campaign.BatchKey, after, limit int) ([]ledger.Entry, error) {
	switch key {
	case ended:
		return nil, campaign.ErrExpired
	case damaged:
		return nil, fmt.Errorf("read the head: %w", campaign.ErrDamaged)
	}
	all := l.entries[key]
	return all[min(after, len(all)):min(after+limit, len(all))], nil
}

// logOf is a log whose entries have the given times after at.
func logOf(times ...time.Duration) (entries []ledger.Entry) {
	for i, d := range times {
		entries = append(entries, ledger.Entry{Sequence: i + 1, Change: campaign.Change{Index: i % campaign.MaxMessages, Outcome: campaign.OutcomeSent, At: at.Add(d)}})
	}
	return entries
}

func TestReplay(t *testing.T) {
	t.Parallel()
	l := logs{
		keys: []campaign.BatchKey{first, ended, second},
		entries: map[campaign.BatchKey][]ledger.Entry{
			// The second entry may have arrived a week late. The third one follows it.
			first:  logOf(-240*time.Hour, -7*24*time.Hour, -230*time.Hour),
			second: logOf(-240*time.Hour, -239*time.Hour),
		},
	}
	r := &feederFixture{endpoints: []delivery.Endpoint{{ID: "all"}}}
	done, err := feed.Replayer{Logs: l, Feeder: r.feeder()}.Replay(t.Context(), at, func(feed.Replayed) {})
	if want := (feed.Replayed{Batches: 1, Entries: 2}); err != nil || done != want {
		t.Errorf("replayed %+v, %v, want %+v", done, err, want)
	}
	if diff := cmp.Diff(map[string][][]int{"all 01": {{2, 3}}}, r.sequences(t)); diff != "" {
		t.Errorf("queued (-want +got):\n%s", diff)
	}
}

// A log longer than a page is replayed completely, with progress calls.
func TestReplay_LongLogs(t *testing.T) {
	t.Parallel()
	long := logOf(make([]time.Duration, 12_000)...)
	l := logs{keys: []campaign.BatchKey{first, second}, entries: map[campaign.BatchKey][]ledger.Entry{first: long, second: logOf(0)}}
	r := &feederFixture{endpoints: []delivery.Endpoint{{ID: "all"}}}
	var progress []feed.Replayed
	_, err := feed.Replayer{Logs: l, Feeder: r.feeder()}.Replay(t.Context(), at, func(done feed.Replayed) { progress = append(progress, done) })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]feed.Replayed{{Batches: 1, Entries: 12_000}, {Batches: 2, Entries: 12_001}}, progress); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	queued := 0
	for _, sequences := range r.sequences(t) {
		for _, some := range sequences {
			queued += len(some)
		}
	}
	if queued != 12_001 {
		t.Errorf("%d entries were queued, want 12001", queued)
	}
}

// The progress before a failure is returned, so that the command can be repeated.
func TestReplay_Failures(t *testing.T) {
	t.Parallel()
	many := logOf(make([]time.Duration, 6000)...)
	l := logs{keys: []campaign.BatchKey{first}, entries: map[campaign.BatchKey][]ledger.Entry{first: many}, err: errLost}
	r := &feederFixture{endpoints: []delivery.Endpoint{{ID: "all"}}}
	done, err := feed.Replayer{Logs: l, Feeder: r.feeder()}.Replay(t.Context(), at, func(feed.Replayed) {})
	if want := (feed.Replayed{Batches: 1, Entries: 6000}); !errors.Is(err, errLost) || done != want {
		t.Errorf("the logs: replayed %+v, %v", done, err)
	}
	r.queueErr = errLost
	done, err = feed.Replayer{Logs: l, Feeder: r.feeder()}.Replay(t.Context(), at, func(feed.Replayed) {})
	if !errors.Is(err, errLost) || done != (feed.Replayed{}) {
		t.Errorf("the queue: replayed %+v, %v", done, err)
	}
	if _, err := (feed.Replayer{Logs: l}).Count(t.Context(), at); !errors.Is(err, errLost) {
		t.Errorf("counting: %v", err)
	}
}

// A batch with unreadable outcomes is named, and the others are replayed.
func TestReplay_DamagedBatch(t *testing.T) {
	t.Parallel()
	l := logs{
		keys:    []campaign.BatchKey{first, damaged, second},
		entries: map[campaign.BatchKey][]ledger.Entry{first: logOf(0), second: logOf(0, 0)},
	}
	r := &feederFixture{endpoints: []delivery.Endpoint{{ID: "all"}}}
	done, err := feed.Replayer{Logs: l, Feeder: r.feeder()}.Replay(t.Context(), at, func(feed.Replayed) {})
	if want := (feed.Replayed{Batches: 2, Entries: 3}); !errors.Is(err, campaign.ErrDamaged) || !strings.Contains(err.Error(), damaged.String()) || done != want {
		t.Errorf("replayed %+v, %v, want %+v and the damaged batch", done, err, want)
	}
	if diff := cmp.Diff(map[string][][]int{"all 01": {{1}}, "all 02": {{1, 2}}}, r.sequences(t)); diff != "" {
		t.Errorf("queued (-want +got):\n%s", diff)
	}
}
