package sweep_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"testing"
	"time"

	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/sweep"
	"campaign-dispatch/internal/sweep/overdue"
)

var errUnavailable = errors.New("unavailable")

// brokenStore has a due batch and a due campaign and fails to read them, or fails to read
// the index.
type brokenStore struct {
	sweep.Store

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
	return nil, sweeper.Sweep(ctx, sweep.Part{})
}

func TestSweep_CountsFailures(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	if _, err := metrics.Of(sweeping{brokenStore{}}.Invoke, &log, time.Now).Invoke(t.Context(), nil); err != nil {
		t.Errorf("sweep failed: %v", err)
	}
	var counted struct{ SweepFailed int }
	if err := json.Unmarshal(log.Bytes(), &counted); err != nil || counted.SweepFailed != 2 {
		t.Errorf("counted %d failures, want 2 (%v): %s", counted.SweepFailed, err, log.String())
	}
}

func TestSweep_UnreadableIndex(t *testing.T) {
	t.Parallel()
	if _, err := (sweeping{brokenStore{index: errUnavailable}}).Invoke(t.Context(), nil); !errors.Is(err, errUnavailable) {
		t.Errorf("sweep: %v, want %v", err, errUnavailable)
	}
}
