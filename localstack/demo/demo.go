package demo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/localstack/progress"
	"campaign-dispatch/localstack/stackenv"
)

// Demo sends a campaign through the stack at Env.
type Demo struct {
	Env  stackenv.Env
	File string
	Now  func() time.Time
	Log  *progress.Log
}

// progressTimeout is the maximum time without a new outcome or webhook.
const progressTimeout = time.Minute

// Run dispatches c as a new campaign, in batches of the maximum size, and returns when
// every accepted message has an outcome and every change has its webhook.
func (d Demo) Run(ctx context.Context, c Campaign) error {
	d.Log.Line("")
	d.Log.Line("Dispatching %s: %d messages to POST %s/api/v1/external/campaigns/dispatch", d.File, len(c.Messages), d.Env["BASE_URL"])
	w := newWatcher(d.Env, d.Now)
	accepted, err := d.dispatch(ctx, c, w)
	if err != nil {
		return err
	}
	l, err := d.follow(ctx, w, accepted)
	if err != nil {
		return err
	}
	if err := d.printFailures(ctx, w, l); err != nil {
		return err
	}
	w.expectedTaps = expectedTaps(c.Messages)
	return d.followOutcomes(ctx, w, accepted)
}

func (d Demo) dispatch(ctx context.Context, c Campaign, w *watcher) (accepted int, err error) {
	service, err := connect(ctx, d.Env)
	if err != nil {
		return 0, err
	}
	id := random.UUID()
	name := c.Name + " " + d.Now().Format("2006-01-02 15:04:05.000")
	step := d.Log.Step("dispatch")
	rejected := 0
	for batch := range slices.Chunk(c.Messages, campaign.MaxMessages) {
		request := dispatchRequest{
			CampaignID: id, Name: name, TemplateID: d.template(c),
			Batch: strconv.Itoa(len(w.batches) + 1), Messages: batch,
		}
		a, err := service.dispatch(ctx, request)
		if err != nil {
			return 0, fmt.Errorf("dispatch %s: %w", d.File, inFile(err, batch))
		}
		accepted += a.Accepted
		rejected += a.Rejected
		w.batches = append(w.batches, campaign.BatchRef{
			ID:      campaign.ID{Tenant: d.Env["TENANT"], CampaignID: id},
			BatchID: campaign.BatchID(request.Batch),
		})
		step.Bar(accepted+rejected, len(c.Messages), "")
		d.printRejections(a)
	}
	step.Done("campaign %s: %d accepted, %d rejected", id, accepted, rejected)
	return accepted, nil
}

// template returns the file's template, or a seeded one: the carousel for messages with
// variables, else the text without variables.
func (d Demo) template(c Campaign) string {
	switch {
	case c.TemplateID != "":
		return c.TemplateID
	case len(c.Messages[0].Vars) > 0:
		return d.Env["TEMPLATE_ID_CAROUSEL"]
	default:
		return d.Env["TEMPLATE_ID_PLAIN"]
	}
}

// printRejections prints the first rejected phone numbers and the error file's URL.
func (d Demo) printRejections(a dispatchResponse) {
	const shown = 5
	invalid := a.Feedback.InvalidPhones
	for _, phone := range invalid[:min(shown, len(invalid))] {
		d.Log.Line("  rejected %q: %s", phone.Phone, phone.Reason)
	}
	if len(invalid) > shown {
		d.Log.Line("  … and %d more", len(invalid)-shown)
	}
	if a.Feedback.ErrorFileURL != "" {
		d.Log.Line("  all rejected numbers: %s", a.Feedback.ErrorFileURL)
	}
}

// follow prints the progress until every accepted message has an outcome in the
// ledger and the provider has accepted every sent message.
func (d Demo) follow(ctx context.Context, w *watcher, accepted int) (ledger, error) {
	const tick = 150 * time.Millisecond
	step, seen := d.Log.Step("send"), change{now: d.Now}
	for {
		l, err := w.ledger(ctx)
		if err != nil {
			return l, err
		}
		taken, err := w.accepted(ctx)
		if err != nil {
			return l, err
		}
		known, sent := l.known(), l.known()-l.failed()
		step.Bar(known, accepted, fmt.Sprintf("the provider accepted %d, %d failed", taken, l.failed()))
		switch quiet := seen.quiet(known); {
		case known == accepted && taken >= sent:
			step.Done("the provider accepted %d messages, %d failed", sent, l.failed())
			return l, nil
		case quiet > progressTimeout:
			return l, fmt.Errorf("%d of %d messages have no outcome after a minute without progress: see `make logs`", accepted-known, accepted)
		case retry.Sleep(ctx, tick) != nil:
			return l, errors.New("interrupted: the stack continues to send")
		}
	}
}

// printFailures prints the number of failed messages by code.
func (d Demo) printFailures(ctx context.Context, w *watcher, l ledger) error {
	if l.failed() == 0 {
		return nil
	}
	reasons, err := w.failures(ctx)
	if err != nil {
		return err
	}
	for _, code := range slices.Sorted(maps.Keys(reasons)) {
		d.Log.Line("  failed: %d × %s", reasons[code], code)
	}
	return nil
}
