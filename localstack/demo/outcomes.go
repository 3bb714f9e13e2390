package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/localstack/httpjson"
)

// ledger is a campaign's ledger and the number of received webhooks.
type ledger struct {
	counts   map[campaign.Outcome]int
	changes  int // the service sends a webhook for each
	webhooks int // received, without duplicates
	taps     int // on suggestions
}

// final counts the messages with a final outcome.
func (l ledger) final() int { return l.known() - l.counts[campaign.OutcomeSent] }

func (l ledger) known() (total int) {
	for _, n := range l.counts {
		total += n
	}
	return total
}

// failed counts the messages that will never be delivered.
func (l ledger) failed() int {
	return l.counts[campaign.OutcomeFailed] + l.counts[campaign.OutcomeExpired]
}

// String lists the outcomes with their counts.
func (l ledger) String() string {
	var parts []string
	for _, outcome := range slices.Sorted(maps.Keys(l.counts)) {
		if n := l.counts[outcome]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, outcome))
		}
	}
	return strings.Join(parts, " + ")
}

// silence is the time without changes after which the demo stops waiting for messages
// that the provider does not deliver.
const silence = 5 * time.Second

// tapping matches the sandbox's numbers whose recipients tap a suggestion.
var tapping = regexp.MustCompile(`90000000[67]$`)

func expectedTaps(messages []Message) (taps int) {
	for _, m := range messages {
		if tapping.MatchString(m.Phone) {
			taps++
		}
	}
	return taps
}

// followOutcomes prints the progress of outcomes and webhooks, then the balance. It
// returns an error if accepted messages have no outcome.
func (d Demo) followOutcomes(ctx context.Context, w *watcher, accepted int) error {
	const tick = 500 * time.Millisecond
	step := d.Log.Step("outcomes")
	before, moved := -1, d.Now()
	for {
		l, err := w.ledger(ctx)
		if err == nil {
			l.webhooks, err = w.received(ctx, d.Env["WEBHOOK_SINK_URL"])
		}
		if err != nil {
			return err
		}
		step.Bar(l.final(), accepted, fmt.Sprintf("%s, %d webhooks", l, l.webhooks))
		if seen := l.changes + l.webhooks + l.taps; seen != before {
			before, moved = seen, d.Now()
		}
		quiet := d.Now().Sub(moved)
		posted := l.webhooks >= l.changes && (l.taps >= w.expectedTaps || quiet > silence)
		if posted && (l.final() == accepted || quiet > silence) {
			step.Done("%d changes, %d webhooks received", l.changes, l.webhooks)
			d.Log.Line("  balance: %d accepted = %s", accepted, l)
			d.Log.Line("  taps: %d on suggestions; %s/_sim/phone shows the messages", l.taps, d.Env["RCS_URL"])
			if l.known() != accepted {
				return fmt.Errorf("%d of %d accepted messages have an outcome", l.known(), accepted)
			}
			return nil
		}
		if quiet > progressTimeout {
			return fmt.Errorf("%d of %d webhooks are missing after a minute without progress: see `make logs`", l.changes-l.webhooks, l.changes)
		}
		if retry.Sleep(ctx, tick) != nil {
			return errors.New("interrupted: the stack is still running")
		}
	}
}

// ledger reads the campaign's outcomes and taps. It does not count the webhooks.
func (w *watcher) ledger(ctx context.Context) (ledger, error) {
	l := ledger{counts: map[campaign.Outcome]int{}}
	for _, ref := range w.batches {
		batch, err := w.store.Batches.Batch(ctx, ref)
		if err != nil {
			return l, fmt.Errorf("read the campaign's ledger: %w", err)
		}
		head, err := w.store.Ledgers.LedgerHead(ctx, batch.Key)
		if err != nil {
			return l, fmt.Errorf("read the campaign's ledger: %w", err)
		}
		for outcome, n := range head.Summary().Counts {
			l.counts[outcome] += n
		}
		l.changes += head.Sequence
		taps, err := w.store.Taps.TapEntries(ctx, batch.Key, 0, campaign.MaxTaps)
		if err != nil {
			return l, fmt.Errorf("read the campaign's taps: %w", err)
		}
		l.taps += len(taps)
	}
	return l, nil
}

// received counts the verified webhooks of the campaign's changes in the sink.
func (w *watcher) received(ctx context.Context, sink string) (int, error) {
	var posts []struct {
		Body     string `json:"body"`
		Verified bool   `json:"verified"`
	}
	if err := httpjson.Get(ctx, sink+"/_sink/events", &posts); err != nil {
		return 0, fmt.Errorf("list the sink's webhooks: %w", err)
	}
	ids := map[string]bool{}
	for _, post := range posts {
		var message struct {
			ID   string `json:"id"`
			Data struct {
				CampaignID string `json:"campaignId"`
				Sequence   int    `json:"sequence"` // set for changes
			} `json:"data"`
		}
		valid := post.Verified && json.Unmarshal([]byte(post.Body), &message) == nil
		if valid && message.Data.Sequence > 0 && message.Data.CampaignID == w.batches[0].CampaignID {
			ids[message.ID] = true
		}
	}
	return len(ids), nil
}
