package demo

import (
	"context"
	"encoding/json"
	"fmt"
	neturl "net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/localstack/httpjson"
	"campaign-dispatch/localstack/stackenv"
)

// watcher reads the service's ledger and the provider's accepted messages.
type watcher struct {
	store   *dynamo.Stores
	batches []campaign.BatchRef
	rcs     string
	since   time.Time
	// expectedTaps is how many taps the simulator sends for the campaign.
	expectedTaps int
}

func newWatcher(env stackenv.Env, now func() time.Time) *watcher {
	return &watcher{
		store: dynamo.New(dynamo.FromEnv(dynamodb.NewFromConfig(env.AWS()), env.Get, now)),
		rcs:   env["RCS_URL"],
		since: now(),
	}
}

// accepted counts the messages that the provider accepted since the start of the demo.
func (w *watcher) accepted(ctx context.Context) (int, error) {
	after := neturl.QueryEscape(w.since.UTC().Format(time.RFC3339Nano))
	var messages []json.RawMessage
	if err := httpjson.Get(ctx, w.rcs+"/_sim/messages?after="+after, &messages); err != nil {
		return 0, fmt.Errorf("list the provider's messages: %w", err)
	}
	return len(messages), nil
}

// failures counts the failed and expired messages by their code in the ledger.
func (w *watcher) failures(ctx context.Context) (map[string]int, error) {
	reasons := map[string]int{}
	for _, ref := range w.batches {
		batch, err := w.store.Batches.Batch(ctx, ref)
		if err != nil {
			return nil, fmt.Errorf("read the campaign's failures: %w", err)
		}
		changes, err := w.store.Ledgers.Changes(ctx, batch, 0, campaign.MaxChanges)
		if err != nil {
			return nil, fmt.Errorf("read the campaign's failures: %w", err)
		}
		for _, change := range changes {
			if change.Outcome == campaign.OutcomeFailed || change.Outcome == campaign.OutcomeExpired {
				reasons[change.Code]++
			}
		}
	}
	return reasons, nil
}
