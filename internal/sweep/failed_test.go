package sweep_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/outcome"
	"campaign-dispatch/internal/sweep"
	"campaign-dispatch/internal/sweep/overdue"
)

var errUnavailable = errors.New("unavailable")

// brokenStore has a due batch and a due campaign and fails to read them, or fails to read
// the index.
type brokenStore struct {
	unpaused

	index error
}

func (s brokenStore) Due(context.Context, int, time.Time) iter.Seq2[overdue.Item, error] {
	return func(yield func(overdue.Item, error) bool) {
		_ = yield(overdue.Item{Batch: campaign.BatchRef{BatchID: "b"}}, s.index) &&
			yield(overdue.Item{Campaign: &campaign.ID{CampaignID: "c"}}, nil)
	}
}

func (brokenStore) Batch(context.Context, campaign.BatchRef) (campaign.Batch, error) {
	return campaign.Batch{}, errUnavailable
}

type brokenExpirer struct{}

func (brokenExpirer) ExpireIfDue(context.Context, campaign.ID) (bool, error) {
	return false, errUnavailable
}

// sweeping runs the sweep of a store as a Lambda handler.
type sweeping struct{ store sweep.Store }

func (s sweeping) Invoke(ctx context.Context, _ []byte) ([]byte, error) {
	sweeper := &sweep.Sweeper{Store: s.store, Expire: brokenExpirer{}.ExpireIfDue, Shards: 1, Now: time.Now}
	return nil, sweeper.Sweep(ctx, sweep.Section{})
}

func TestSweep_CountsFailures(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	if _, err := metrics.NewHandler(sweeping{brokenStore{}}.Invoke, &log, time.Now).Invoke(t.Context(), nil); err != nil {
		t.Errorf("sweep failed: %v", err)
	}
	var counted struct{ SweepFailed int }
	if err := json.NewDecoder(&log).Decode(&counted); err != nil || counted.SweepFailed != 2 {
		t.Errorf("counted %d failures, want 2 (%v): %s", counted.SweepFailed, err, log.String())
	}
}

// partsStore has a completed batch whose campaign awaits parts of its file.
type partsStore struct {
	unpaused

	waiting bool
}

func (partsStore) Due(context.Context, int, time.Time) iter.Seq2[overdue.Item, error] {
	return func(yield func(overdue.Item, error) bool) { yield(overdue.Item{}, nil) }
}

func (s partsStore) Batch(context.Context, campaign.BatchRef) (campaign.Batch, error) {
	return campaign.Batch{State: campaign.BatchCompleted, Waits: campaign.Waits{Parts: s.waiting}}, nil
}

// partsOutcomes is the store of the recorder for partsStore.
type partsOutcomes struct {
	outcome.Store

	checked *int
	toCome  int // parts
}

func (partsOutcomes) CloseBatch(context.Context, campaign.Batch, campaign.Money) error { return nil }

func (partsOutcomes) CompleteBatch(context.Context, campaign.Batch, campaign.Money, time.Time) (bool, error) {
	return false, nil
}

func (s partsOutcomes) Progress(context.Context, campaign.ID) (campaign.Progress, error) {
	return campaign.Progress{Completed: 1, Batches: 2 - s.toCome, PartsToCome: s.toCome}, nil
}

func (s partsOutcomes) PostponeCheck(_ context.Context, b campaign.Batch, _ time.Time) (bool, error) {
	if b.Waits.Parts {
		*s.checked++
	}
	return true, nil
}

// A completed batch that waits for parts of its campaign's file, or did so until now, has lost no step.
func TestSweep_PartsToCome(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		toCome  int
		waiting bool
		counted bool // as lost work
	}{
		"parts to come":           {1, false, false},
		"parts still to come":     {1, true, false},
		"the rest was accepted":   {0, true, false},
		"the completion was lost": {0, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			checked := 0
			recorder := &outcome.Recorder{Store: partsOutcomes{checked: &checked, toCome: test.toCome}, Now: time.Now}
			sweeper := &sweep.Sweeper{Store: partsStore{waiting: test.waiting}, Recorder: recorder, Shards: 1, Now: time.Now}
			run := func(ctx context.Context, _ []byte) ([]byte, error) { return nil, sweeper.Sweep(ctx, sweep.Section{}) }
			if _, err := metrics.NewHandler(run, &log, time.Now).Invoke(t.Context(), nil); err != nil || checked != test.toCome || strings.Contains(log.String(), "SweepFound") != test.counted {
				t.Errorf("sweep checked the batch %d times and counted %q (%v), want %d checks", checked, log.String(), err, test.toCome)
			}
		})
	}
}

func TestSweep_UnreadableIndex(t *testing.T) {
	t.Parallel()
	if _, err := (sweeping{brokenStore{index: errUnavailable}}).Invoke(t.Context(), nil); !errors.Is(err, errUnavailable) {
		t.Errorf("sweep: %v, want %v", err, errUnavailable)
	}
}
