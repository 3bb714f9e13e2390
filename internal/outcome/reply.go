package outcome

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/webhook/delivery"
)

type optChange struct {
	tenant string
	event  reaction.EventTask
	campaign.OptChange
	isNew bool // the number was not opted out before
}

// applyAnswers applies replies, opt-outs and opt-ins, and sets their errors. It records the
// taps of a batch together, because each write replaces a row of the batch.
func (a *call) applyAnswers(ctx context.Context, answers []*answer, errs []error) {
	var reads, records, replies concurrent
	for _, r := range answers {
		reads.start(func() { errs[r.position] = a.readAnswer(ctx, r) })
	}
	reads.Wait()
	taps := map[campaign.BatchKey][]*answer{}
	for _, r := range answers {
		if errs[r.position] == nil && r.tap != nil {
			taps[r.tap.Key] = append(taps[r.tap.Key], r)
		}
	}
	for _, some := range taps {
		records.start(func() {
			err := a.recordTaps(ctx, some)
			for _, r := range some {
				errs[r.position] = err
			}
		})
	}
	records.Wait()
	optChanges := make([]*optChange, len(errs))
	for _, r := range answers {
		if errs[r.position] == nil {
			replies.start(func() { optChanges[r.position], errs[r.position] = a.applyReply(ctx, r) })
		}
	}
	replies.Wait()
	a.recordOptOuts(ctx, optChanges, errs)
	a.settle(ctx, answers, errs)
}

// settle removes the marks of the opt-outs and opt-ins that are recorded or void, and sets
// the errors of those it cannot remove. An erasure keeps a marked content.
func (a *Applier) settle(ctx context.Context, answers []*answer, errs []error) {
	var writes concurrent
	for _, r := range answers {
		if errs[r.position] == nil && r.content.Pending {
			r.content.Pending = false
			writes.start(func() { errs[r.position] = port.PutJSON(ctx, a.Contents, r.Blob, r.content) })
		}
	}
	writes.Wait()
}

func (a *Applier) readAnswer(ctx context.Context, r *answer) (err error) {
	if r.content, err = a.content(ctx, r.EventTask); err == nil {
		err = a.readTap(ctx, r)
	}
	if err != nil {
		return fmt.Errorf("apply answer: %w", err)
	}
	return nil
}

// applyReply applies a reply, an opt-out or an opt-in. It returns the opt-out change to
// record, nil if there is none. Deliveries are written before the opt-out, so a crash repeats
// webhooks but loses none.
func (a *Applier) applyReply(ctx context.Context, r *answer) (*optChange, error) {
	if r.content.Phone == "" {
		return nil, nil
	}
	tenant, campaignID, err := a.recipientTenant(ctx, r.EventTask)
	if err != nil {
		return nil, fmt.Errorf("apply answer: %w", err)
	}
	if tenant == "" {
		return nil, nil
	}
	h := delivery.Event{At: r.At, CampaignID: campaignID, MessageID: r.MessageID, Phone: r.content.Phone, Text: r.content.Text}
	c, err := a.applyFor(ctx, tenant, r, h)
	if err != nil {
		return nil, fmt.Errorf("apply answer for tenant %s: %w", tenant, err)
	}
	return c, nil
}

// recordOptOuts records the change made by each event and sets errs by event.
// The changes of a tenant are recorded together, because each write replaces a whole shard.
func (a *call) recordOptOuts(ctx context.Context, byEvent []*optChange, errs []error) {
	made, events := map[string][]optChange{}, map[string][]int{}
	for i, c := range byEvent {
		if c != nil {
			made[c.tenant], events[c.tenant] = append(made[c.tenant], *c), append(events[c.tenant], i)
		}
	}
	for tenant := range made {
		failed := a.recordFor(ctx, tenant, made[tenant])
		for i, c := range made[tenant] {
			if err := failed[c.Phone]; err != nil {
				errs[events[tenant][i]] = fmt.Errorf("apply answer for tenant %s: %w", tenant, err)
			}
		}
	}
}

// recordFor logs, records and counts the changes of a tenant, in this order: a change that is recorded is not new when
// its event is repeated. Then only the log has it for certain, and the recount counts it. It returns the errors of the
// numbers whose changes are not recorded.
func (a *call) recordFor(ctx context.Context, tenant string, made []optChange) (failed map[string]error) {
	failed = a.logOptOuts(ctx, tenant, newOptOuts(made))
	logged := slices.DeleteFunc(slices.Clone(made), func(c optChange) bool { return failed[c.Phone] != nil })
	if len(logged) == 0 {
		return failed
	}
	changes := make([]campaign.OptChange, len(logged))
	for i, c := range logged {
		changes[i] = c.OptChange
	}
	if err := a.OptOuts.Record(ctx, tenant, changes); err != nil {
		for _, c := range logged {
			failed[c.Phone] = err
		}
		return failed
	}
	a.days.addOptOuts(tenant, newOptOuts(logged))
	a.settleReplies(ctx, tenant, changes)
	return failed
}

// logOptOuts returns the errors of the numbers whose opt-out is not logged.
func (a *Applier) logOptOuts(ctx context.Context, tenant string, optOuts []optChange) (failed map[string]error) {
	var writes concurrent
	errs := make([]error, len(optOuts))
	for i, c := range optOuts {
		writes.start(func() { errs[i] = a.Store.LogOptOut(ctx, tenant, reaction.NewLoggedOptOut(c.event, c.Phone)) })
	}
	writes.Wait()
	failed = map[string]error{}
	for i, c := range optOuts {
		if errs[i] != nil {
			failed[c.Phone] = errs[i]
		}
	}
	return failed
}

// settleReplies settles the doubtful replies on which the changes of their numbers decide. The changes are recorded: if it
// fails, an admin decides.
func (a *Applier) settleReplies(ctx context.Context, tenant string, changes []campaign.OptChange) {
	latest := map[string]time.Time{}
	for _, c := range changes {
		if c.At.After(latest[c.Phone]) {
			latest[c.Phone] = c.At
		}
	}
	if err := a.Store.SettleReplies(ctx, tenant, latest); err != nil {
		slog.WarnContext(ctx, "settling doubtful replies failed; an admin decides on them", "tenant", tenant, "error", err)
	}
}

func (a *Applier) content(ctx context.Context, t reaction.EventTask) (content reaction.EventContent, err error) {
	body, err := a.Contents.Get(ctx, t.Blob)
	if err != nil {
		return content, err
	}
	if err := json.Unmarshal(body, &content); err != nil {
		return content, fmt.Errorf("decode event content: %w", err)
	}
	return content, nil
}

// recipientTenant returns the tenant that receives a reply: the sender of the replied-to
// message, if the provider sent its ID, or else the tenant of the agent. It returns "" if
// another agent sent the message.
func (a *Applier) recipientTenant(ctx context.Context, t reaction.EventTask) (tenant, campaignID string, err error) {
	if key, _, ours := campaign.ParseMessageID(t.MessageID); ours {
		b, err := a.findBatch(ctx, key)
		if err == nil && t.AgentID != b.AgentID {
			drop(ctx, droppedForeign, 1)
			return "", "", nil
		}
		if err == nil {
			return b.Tenant, b.CampaignID, nil
		}
		if !errors.Is(err, campaign.ErrNotFound) {
			return "", "", err
		}
	}
	tenant, err = a.Store.TenantOf(ctx, t.AgentID)
	return tenant, "", err
}

// applyFor writes the deliveries for the tenant's endpoints. It returns the tenant's
// opt-out change, nil if there is none.
func (a *Applier) applyFor(ctx context.Context, tenant string, r *answer, h delivery.Event) (c *optChange, err error) {
	out, changes, doubtful := reaction.OptChangeOf(r.Kind, h.Text, r.content.Postback)
	r.doubtful = doubtful
	if r.Kind == reaction.EventReply && !r.again {
		if err := a.keepReply(ctx, tenant, r, h); err != nil {
			return nil, err
		}
	}
	if !changes {
		return nil, nil
	}
	c = &optChange{
		tenant: tenant, event: r.EventTask,
		OptChange: campaign.OptChange{Phone: h.Phone, Out: out, At: r.At, Origin: campaign.OriginMessage},
	}
	if !out {
		return c, nil
	}
	// A repeated or outdated opt-out causes no webhook.
	c.isNew, err = a.OptOuts.WouldChange(ctx, tenant, c.OptChange)
	if err == nil && c.isNew {
		h.Kind = delivery.KindOptedOut
		err = a.queueWebhook(ctx, tenant, r.EventTask, h, subscribers(delivery.KindOptedOut))
	}
	return c, err
}

// keepReply stores a written reply and writes the deliveries of any reply. A tap is stored
// with the batch of its message.
func (a *Applier) keepReply(ctx context.Context, tenant string, r *answer, h delivery.Event) error {
	if r.tap == nil {
		if err := a.saveReply(ctx, tenant, r, h); err != nil {
			return err
		}
	}
	h.Kind = delivery.KindReplied
	return a.queueWebhook(ctx, tenant, r.EventTask, h, r.repliesTo)
}

// saveReply stores a written reply.
func (a *Applier) saveReply(ctx context.Context, tenant string, r *answer, h delivery.Event) error {
	reply := reaction.NewReply(r.At, r.Blob, h.Phone, h.Text)
	if r.doubtful {
		return a.saveDoubt(ctx, tenant, reply)
	}
	return a.Store.SaveReply(ctx, tenant, reply)
}

// saveDoubt stores a reply that may be an opt-out. It is doubtful if its number is not opted out, also not by a change
// that was recorded while it was stored.
func (a *Applier) saveDoubt(ctx context.Context, tenant string, reply reaction.Reply) (err error) {
	out := campaign.OptChange{Phone: reply.Phone, Out: true, At: reply.At, Origin: campaign.OriginMessage}
	if reply.Doubtful, err = a.OptOuts.WouldChange(ctx, tenant, out); err != nil {
		return err
	}
	if err := a.Store.SaveReply(ctx, tenant, reply); err != nil {
		return err
	}
	if still, err := a.OptOuts.WouldChange(ctx, tenant, out); err != nil || still {
		return err
	}
	return a.Store.SettleReplies(ctx, tenant, map[string]time.Time{reply.Phone: reply.At})
}

// repliesTo reports whether the endpoint receives the answer as a reply. An endpoint that
// lists taps receives a tap as a tap only.
func (r *answer) repliesTo(e delivery.Endpoint) bool {
	return e.Subscribes(delivery.KindReplied) && (r.tap == nil || !e.Subscribes(delivery.KindTapped))
}

// queueWebhook writes deliveries of the webhook event for the tenant's endpoints that want
// it. Its blob key and event ID do not change when the event is repeated.
func (a *Applier) queueWebhook(
	ctx context.Context, tenant string, t reaction.EventTask, h delivery.Event, wants func(delivery.Endpoint) bool,
) error {
	h.EventID = campaign.Digest(tenant + "#" + t.Blob + "#" + string(h.Kind))
	return a.Recorder.queueEvent(ctx, a.Contents, tenant, t.Blob+"."+h.EventID, h, wants)
}
