package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	neturl "net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/localstack/httpjson"
	"campaign-dispatch/localstack/stackenv"
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
	step, seen := d.Log.Step("outcomes"), change{now: d.Now}
	for {
		l, err := w.ledger(ctx)
		if err == nil {
			l.webhooks, err = w.received(ctx, d.Env["WEBHOOK_SINK_URL"])
		}
		if err != nil {
			return err
		}
		step.Bar(l.final(), accepted, fmt.Sprintf("%s, %d webhooks", l, l.webhooks))
		quiet := seen.quiet(l.changes + l.webhooks + l.taps)
		posted := l.webhooks >= l.changes && (l.taps >= w.expectedTaps || quiet > silence)
		switch {
		case posted && (l.final() == accepted || quiet > silence):
			step.Done("%d changes, %d webhooks received", l.changes, l.webhooks)
			d.Log.Line("  balance: %d accepted = %s", accepted, l)
			d.Log.Line("  taps: %d on suggestions; %s/_sim/phone shows the messages", l.taps, d.Env["RCS_URL"])
			if l.known() != accepted {
				return fmt.Errorf("%d of %d accepted messages have an outcome", l.known(), accepted)
			}
			return nil
		case quiet > progressTimeout:
			return fmt.Errorf("%d of %d webhooks are missing after a minute without progress: see `make logs`", l.changes-l.webhooks, l.changes)
		case retry.Sleep(ctx, tick) != nil:
			return errors.New("interrupted: the stack is still running")
		}
	}
}

// change notes when a number has changed.
type change struct {
	now   func() time.Time
	count int
	at    time.Time
}

// quiet returns the time since the number changed.
func (c *change) quiet(count int) time.Duration {
	if count != c.count || c.at.IsZero() {
		c.count, c.at = count, c.now()
	}
	return c.now().Sub(c.at)
}

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

// ledger reads the campaign's outcomes and taps. It does not count the webhooks.
func (w *watcher) ledger(ctx context.Context) (ledger, error) {
	l := ledger{counts: map[campaign.Outcome]int{}}
	return l, w.each(ctx, func(batch campaign.Batch) error {
		head, err := w.store.LedgerHead(ctx, batch.Key)
		if err != nil {
			return err
		}
		for outcome, n := range head.Summary().Counts {
			l.counts[outcome] += n
		}
		l.changes += head.Sequence
		taps, err := w.store.TapEntries(ctx, batch.Key, 0, campaign.MaxTaps)
		l.taps += len(taps)
		return err
	})
}

// failures counts the failed and expired messages by their code in the ledger.
func (w *watcher) failures(ctx context.Context) (map[string]int, error) {
	reasons := map[string]int{}
	return reasons, w.each(ctx, func(batch campaign.Batch) error {
		changes, err := w.store.Changes(ctx, batch, 0, campaign.MaxChanges)
		for _, change := range changes {
			if change.Outcome == campaign.OutcomeFailed || change.Outcome == campaign.OutcomeExpired {
				reasons[change.Code]++
			}
		}
		return err
	})
}

// each reads something of each batch of the campaign.
func (w *watcher) each(ctx context.Context, read func(campaign.Batch) error) error {
	for _, ref := range w.batches {
		batch, err := w.store.Batch(ctx, ref)
		if err == nil {
			err = read(batch)
		}
		if err != nil {
			return fmt.Errorf("read the campaign's ledger: %w", err)
		}
	}
	return nil
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
