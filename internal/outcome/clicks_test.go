package outcome_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/campaign/reaction"
)

// clicked is a batch of three messages with links. races is the number of writes that lose
// a race.
type clicked struct {
	*tapped

	clicks ledger.Taps
	races  int
	writes int
	err    error
}

func newClicked() *clicked { return &clicked{tapped: newTapped()} }

func (s *clicked) Clicks(context.Context, campaign.BatchKey) (ledger.Taps, error) {
	return s.clicks, s.err
}

func (s *clicked) AppendTaps(_ context.Context, _ campaign.Batch, read ledger.Taps, news []campaign.Change) (ledger.Taps, error) {
	s.writes++
	if s.races--; s.races >= 0 || read.Sequence != s.clicks.Sequence {
		return read, campaign.ErrLostRace
	}
	s.clicks = s.clicks.After(news)
	return s.clicks, nil
}

func (s *clicked) click(index, suggestion int) reaction.EventTask {
	return reaction.EventTask{
		Kind: reaction.EventClick, AgentID: "agent", MessageID: s.batch.Key.MessageID(index), Suggestion: suggestion, At: s.now, Receives: 1,
	}
}

func (s *clicked) handle(t *testing.T, events ...reaction.EventTask) error {
	t.Helper()
	applier := s.applier()
	applier.Store = s
	return errors.Join(applier.Handle(t.Context(), events)...)
}

// Repeated, shuffled clicks count once for each message and suggestion, and are no taps.
func TestHandle_ClicksOnce(t *testing.T) {
	t.Parallel()
	s := newClicked()
	var events []reaction.EventTask
	for range 3 {
		events = append(events, s.click(0, 2), s.click(2, 2), s.click(2, 5))
	}
	for range 2 {
		rand.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
		if err := s.handle(t, events...); err != nil {
			t.Fatal(err)
		}
	}
	if s.clicks.Sequence != 3 || s.clicks.Messages() != 2 || s.writes != 1 {
		t.Errorf("%d clicks on %d messages in %d writes, want 3 on 2 in one", s.clicks.Sequence, s.clicks.Messages(), s.writes)
	}
	if s.taps.Sequence != 0 || len(s.queued) > 0 {
		t.Errorf("%d taps, queued %q", s.taps.Sequence, s.queued)
	}
	if s.enterCalls > 0 {
		t.Errorf("%d changes of status, want none", s.enterCalls)
	}
}

func TestHandle_ClicksOfOthers(t *testing.T) {
	t.Parallel()
	s := newClicked()
	foreign, beyond, none := s.click(0, 2), s.click(3, 2), s.click(0, 0)
	foreign.AgentID = "another"
	if err := s.handle(t, foreign, beyond, none, s.click(1, 2)); err != nil {
		t.Fatal(err)
	}
	want := []campaign.Change{{Index: 1, Outcome: campaign.OutcomeClicked, Suggestion: 2, At: s.now}}
	if diff := cmp.Diff(want, s.clicks.Tail); diff != "" {
		t.Errorf("clicks (-want +got):\n%s", diff)
	}
}

// A click that cannot be recorded is retried. One of a deleted batch ends.
func TestHandle_ClickFails(t *testing.T) {
	t.Parallel()
	s := newClicked()
	s.err = errBroken
	if err := s.handle(t, s.click(0, 2)); !errors.Is(err, errBroken) {
		t.Errorf("error %v, want the store's", err)
	}
	s.err, s.races = nil, 2
	if err := s.handle(t, s.click(0, 2)); err != nil || s.clicks.Sequence != 1 {
		t.Errorf("error %v and %d clicks after lost races, want one click", err, s.clicks.Sequence)
	}
	gone := s.click(0, 2)
	gone.MessageID = campaign.BatchKey{7}.MessageID(0)
	if err := s.handle(t, gone); err == nil {
		t.Error("no error for an unknown batch, want a retry")
	}
	gone.Receives = 5
	if err := s.handle(t, gone); err != nil {
		t.Errorf("error %v after five receives, want none", err)
	}
}

func TestClicks_Pack(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_700_000_000, 0).UTC()
	changes := []campaign.Change{
		{Index: 4, Outcome: campaign.OutcomeClicked, Suggestion: 63, At: at},
		{Index: 4, Outcome: campaign.OutcomeTapped, Suggestion: 1, At: at},
		{Index: 1999, Outcome: campaign.OutcomeClicked, Suggestion: 1, At: at.Add(time.Second)},
	}
	got, err := ledger.Unpack(ledger.Pack(slices.Clone(changes)))
	if diff := cmp.Diff(changes, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
