package outcome

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/phone/e164"
)

// optChange is a change of a tenant's opt-outs.
type optChange struct {
	tenant string
	campaign.OptChange
}

// applyAnswer applies what a person answered: a reply, an opt-out or its end. It
// returns the changes of opt-outs that are still to be recorded, also where it
// returns an error.
// What is owed to endpoints is written before the opt-out: after a failure it is
// owed again, and never not at all.
func (a *Applier) applyAnswer(ctx context.Context, t campaign.EventTask) (changes []optChange, err error) {
	content, err := a.content(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("apply an answer: %w", err)
	}
	if content.Phone == "" {
		return nil, nil
	}
	if !e164.WellFormed(content.Phone) { // queued before rbmhook dropped such events
		drop(ctx, droppedPhone, 1)
		return nil, nil
	}
	tenants, campaignID, err := a.concerned(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("apply an answer: %w", err)
	}
	for _, tenant := range tenants {
		h := campaign.WebhookEvent{At: t.At, CampaignID: campaignID, MessageID: t.MessageID, Phone: content.Phone, Text: content.Text}
		change, ok, err := a.applyFor(ctx, tenant, t, h, content.Postback)
		if err != nil {
			return changes, fmt.Errorf("apply an answer to tenant %s: %w", tenant, err)
		}
		if ok {
			changes = append(changes, optChange{tenant, change})
		}
	}
	return changes, nil
}

// recordOptOuts records the changes that the events made, by their positions, and
// writes its errors to theirs. The changes of one tenant are recorded together:
// each write is of a whole shard.
func (a *Applier) recordOptOuts(ctx context.Context, byEvent [][]optChange, errs []error) {
	changes, events := map[string][]campaign.OptChange{}, map[string][]int{}
	for i, made := range byEvent {
		for _, c := range made {
			changes[c.tenant] = append(changes[c.tenant], c.OptChange)
			events[c.tenant] = append(events[c.tenant], i)
		}
	}
	for tenant := range changes {
		if err := a.OptOuts.Record(ctx, tenant, changes[tenant]); err != nil {
			for _, i := range events[tenant] {
				errs[i] = errors.Join(errs[i], fmt.Errorf("apply an answer to tenant %s: %w", tenant, err))
			}
		}
	}
}

func (a *Applier) content(ctx context.Context, t campaign.EventTask) (content campaign.EventContent, err error) {
	body, err := a.Contents.Get(ctx, t.Blob)
	if err != nil {
		return content, err
	}
	if err := json.Unmarshal(body, &content); err != nil {
		return content, fmt.Errorf("read the content of an event: %w", err)
	}
	return content, nil
}

// concerned returns the tenants that an answer goes to: the one whose message it
// answers, where the provider tells, or all of its agent. It returns none where the
// message was sent by another agent than the one that the answer is signed for.
func (a *Applier) concerned(ctx context.Context, t campaign.EventTask) (tenants []string, campaignID string, err error) {
	if key, _, ours := campaign.ParseMessageID(t.MessageID); ours {
		b, err := a.findBatch(ctx, key)
		if err == nil && t.AgentID != b.AgentID {
			drop(ctx, droppedForeign, 1)
			return nil, "", nil
		}
		if err == nil {
			return []string{b.Tenant}, b.CampaignID, nil
		}
		if !errors.Is(err, campaign.ErrNotFound) {
			return nil, "", err
		}
	}
	tenants, err = a.Tenants.TenantsOf(ctx, t.AgentID)
	return tenants, "", err
}

// applyFor writes what is owed to the tenant's endpoints. It returns the change of
// the tenant's opt-outs, if there is one.
func (a *Applier) applyFor(ctx context.Context, tenant string, t campaign.EventTask, h campaign.WebhookEvent, postback string) (c campaign.OptChange, changes bool, err error) {
	if t.Kind == campaign.EventReply {
		h.Kind = campaign.KindReplied
		if err := a.tell(ctx, tenant, t, h); err != nil {
			return c, false, err
		}
	}
	out, changes := optChangeOf(t.Kind, h.Text, postback)
	c = campaign.OptChange{Phone: h.Phone, Out: out, At: t.At}
	if !out {
		return c, changes, nil
	}
	// One that was out already, or came back since, is no news.
	news, err := a.OptOuts.Turns(ctx, tenant, c)
	if err == nil && news {
		h.Kind = campaign.KindOptedOut
		err = a.tell(ctx, tenant, t, h)
	}
	return c, err == nil, err
}

// optChangeOf returns changes where an answer opts out or in, and out where it opts
// out. An answer opts out or in by an event of its own, or by one of the words that
// do so in Brazil. The word is the answer's text or the postback data of a tapped
// suggestion.
func optChangeOf(kind campaign.EventKind, text, postback string) (out, changes bool) {
	reply := kind == campaign.EventReply
	text, postback = plain(text), plain(postback)
	switch {
	case kind == campaign.EventOptOut, reply && (text == "parar" || postback == "parar"):
		return true, true
	case kind == campaign.EventOptIn, reply && (text == "comecar" || postback == "comecar"):
		return false, true
	}
	return false, false
}

// plain returns a text in small letters without cedillas, composed or not, and
// without what stands around its letters.
func plain(text string) string {
	text = strings.TrimFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
	return strings.NewReplacer("ç", "c", "\u0327", "").Replace(strings.ToLower(text))
}

// tell owes the webhook event to the tenant's endpoints, under a blob and an id that
// are the same however often the event comes.
func (a *Applier) tell(ctx context.Context, tenant string, t campaign.EventTask, h campaign.WebhookEvent) error {
	deliveries, err := a.Recorder.owed(ctx, tenant, h.Kind)
	if err != nil || len(deliveries) == 0 {
		return err
	}
	h.EventID = campaign.Digest(tenant + "#" + t.Blob + "#" + string(h.Kind))
	blob := t.Blob + "." + h.EventID
	body, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err := a.Contents.Put(ctx, blob, body, "application/json"); err != nil {
		return err
	}
	return a.Recorder.owe(ctx, deliveries, blob)
}
