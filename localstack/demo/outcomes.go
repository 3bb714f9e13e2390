package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
)

// ledger is what the service's ledger says of a campaign, and what was told of it.
type ledger struct {
	counts   map[campaign.Outcome]int
	changes  int // each of which is owed a webhook
	webhooks int // different ones that arrived
}

// settled counts the messages after which nothing has to come.
func (l ledger) settled() int { return l.known() - l.counts[campaign.OutcomeSent] }

func (l ledger) known() (total int) {
	for _, n := range l.counts {
		total += n
	}
	return total
}

// String names the outcomes that there are.
func (l ledger) String() string {
	var parts []string
	for _, outcome := range slices.Sorted(maps.Keys(l.counts)) {
		if n := l.counts[outcome]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, outcome))
		}
	}
	return strings.Join(parts, " + ")
}

// silence is how long nothing has to come of messages that are never delivered
// until they are left to their time.
const silence = 5 * time.Second

// followOutcomes shows what becomes of the messages and the webhooks that tell
// it, and the balance at the end.
func (d Demo) followOutcomes(ctx context.Context, w *watcher, accepted int) error {
	const tick = 500 * time.Millisecond
	step := d.Log.Step("outcomes")
	before, moved := -1, d.Now()
	for {
		l, err := w.ledger(ctx, d.Env["WEBHOOK_SINK_URL"])
		if err != nil {
			return err
		}
		step.Bar(l.settled(), accepted, fmt.Sprintf("%s, %d webhooks", l, l.webhooks))
		if l.changes+l.webhooks != before {
			before, moved = l.changes+l.webhooks, d.Now()
		}
		quiet := d.Now().Sub(moved)
		told := l.webhooks >= l.changes
		if told && (l.settled() == accepted || quiet > silence) {
			step.Done("%d changes, %d webhooks received", l.changes, l.webhooks)
			d.Log.Line("  balance: %d accepted = %s", accepted, l)
			if l.known() != accepted {
				return fmt.Errorf("the books do not balance: %d messages have an outcome", l.known())
			}
			return nil
		}
		if quiet > patience {
			return fmt.Errorf("%d webhooks of %d have not arrived after a minute without progress: see `make logs`", l.changes-l.webhooks, l.changes)
		}
		select {
		case <-ctx.Done():
			return errors.New("interrupted: the stack goes on")
		case <-time.After(tick):
		}
	}
}

func (w *watcher) ledger(ctx context.Context, sink string) (ledger, error) {
	l := ledger{counts: map[campaign.Outcome]int{}}
	for _, ref := range w.batches {
		batch, err := w.store.Batch(ctx, ref)
		if err != nil {
			return l, fmt.Errorf("look at the campaign: %w", err)
		}
		batchLedger, err := w.store.Ledger(ctx, batch, nil)
		if err != nil {
			return l, fmt.Errorf("look at the campaign: %w", err)
		}
		for outcome, n := range batchLedger.Head.Counts {
			l.counts[outcome] += n
		}
		l.changes += batchLedger.Head.Sequence
	}
	var err error
	l.webhooks, err = w.received(ctx, sink)
	return l, err
}

// received counts the webhooks that the sink took of the campaign's changes.
func (w *watcher) received(ctx context.Context, sink string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, sink+"/_sink/events", http.NoBody)
	if err != nil {
		return 0, fmt.Errorf("ask the webhook sink: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("ask the webhook sink: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	var posts []struct {
		Body     string `json:"body"`
		Verified bool   `json:"verified"`
	}
	if err := json.NewDecoder(response.Body).Decode(&posts); err != nil {
		return 0, fmt.Errorf("ask the webhook sink: %w", err)
	}
	ids := map[string]bool{}
	for _, post := range posts {
		var letter struct {
			ID   string `json:"id"`
			Data struct {
				CampaignID string `json:"campaignId"`
				Sequence   int    `json:"sequence"` // a change has one
			} `json:"data"`
		}
		mine := post.Verified && json.Unmarshal([]byte(post.Body), &letter) == nil
		if mine && letter.Data.Sequence > 0 && letter.Data.CampaignID == w.batches[0].CampaignID {
			ids[letter.ID] = true
		}
	}
	return len(ids), nil
}
