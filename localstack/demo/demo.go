package demo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/localstack/progress"
	"campaign-dispatch/localstack/stackenv"
	"campaign-dispatch/localstack/uuid"
)

// Demo is one campaign to be sent through the stack at Env.
type Demo struct {
	Env  stackenv.Env
	File string
	Now  func() time.Time
	Log  *progress.Log
}

// patience is how long the provider may take none of the messages that are left.
const patience = time.Minute

// Run dispatches what File holds as a new campaign, in batches as large as a
// call may be, and returns when every accepted message has its outcome.
func (d Demo) Run(ctx context.Context, c Campaign) error {
	d.Log.Line("")
	d.Log.Line("Dispatching %s: %d messages to POST %s/api/v1/external/campaigns/dispatch", d.File, len(c.Messages), d.Env["BASE_URL"])
	w := newWatcher(d.Env, d.Now)
	accepted, err := d.dispatch(ctx, c, w)
	if err != nil {
		return err
	}
	o, err := d.follow(ctx, w, accepted)
	if err != nil {
		return err
	}
	if err := d.tellFailures(ctx, w, o); err != nil {
		return err
	}
	return d.followOutcomes(ctx, w, accepted)
}

func (d Demo) dispatch(ctx context.Context, c Campaign, w *watcher) (accepted int, err error) {
	service, err := connect(ctx, d.Env)
	if err != nil {
		return 0, err
	}
	id := uuid.New()
	name := c.Name + " " + d.Now().Format("2006-01-02 15:04:05.000")
	step := d.Log.Step("dispatch")
	rejected := 0
	for batch := range slices.Chunk(c.Messages, campaign.MaxMessages) {
		request := call{
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
		d.tellRejections(a)
	}
	step.Done("campaign %s: %d accepted, %d rejected", id, accepted, rejected)
	return accepted, nil
}

// template chooses the seeded template with variables or the one without, as
// the messages have some, where the file names none.
func (d Demo) template(c Campaign) string {
	switch {
	case c.TemplateID != "":
		return c.TemplateID
	case len(c.Messages[0].Vars) > 0:
		return d.Env["TEMPLATE_ID"]
	default:
		return d.Env["TEMPLATE_ID_PLAIN"]
	}
}

// tellRejections shows the first numbers that the service did not accept.
func (d Demo) tellRejections(a answer) {
	const shown = 5
	invalid := a.Feedback.InvalidPhones
	for _, phone := range invalid[:min(shown, len(invalid))] {
		d.Log.Line("  rejected %q: %s", phone.Phone, phone.Reason)
	}
	if len(invalid) > shown {
		d.Log.Line("  … and %d more", len(invalid)-shown)
	}
	if a.Feedback.ErrorFileURL != "" {
		d.Log.Line("  all of them in %s", a.Feedback.ErrorFileURL)
	}
}

// follow shows the messages on their way until the service's ledger says what
// became of each, and the provider's agree.
func (d Demo) follow(ctx context.Context, w *watcher, accepted int) (outcomes, error) {
	const tick = 150 * time.Millisecond
	step := d.Log.Step("send")
	before, moved := -1, d.Now()
	for {
		o, err := w.look(ctx)
		if err != nil {
			return o, err
		}
		step.Bar(o.settled(), accepted, fmt.Sprintf("the provider has %d, %d failed", o.taken, o.failed+o.expired))
		if o.settled() == accepted && o.taken >= o.sent {
			step.Done("the provider accepted %d messages, %d failed", o.sent, o.failed+o.expired)
			return o, nil
		}
		if o.settled() != before {
			before, moved = o.settled(), d.Now()
		}
		if d.Now().Sub(moved) > patience {
			return o, fmt.Errorf("%d of %d messages have no outcome after a minute without progress: see `make logs`",
				accepted-o.settled(), accepted)
		}
		select {
		case <-ctx.Done():
			return o, errors.New("interrupted: the stack goes on sending")
		case <-time.After(tick):
		}
	}
}

// tellFailures says why messages failed.
func (d Demo) tellFailures(ctx context.Context, w *watcher, o outcomes) error {
	if o.failed+o.expired == 0 {
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
