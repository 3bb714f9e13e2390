package outcome

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/e164"
)

// applyAnswer applies what a person answered: a reply, an opt-out or its end.
// What is owed to endpoints is written before the opt-out, so that whoever dies
// in between owes it again, and never not at all.
func (a *Applier) applyAnswer(ctx context.Context, t campaign.EventTask) error {
	content, err := a.content(ctx, t)
	if err != nil {
		return fmt.Errorf("apply an answer: %w", err)
	}
	if content.Phone == "" {
		return nil
	}
	if !e164.WellFormed(content.Phone) { // queued before rbmhook dropped such events
		drop(ctx, droppedPhone, 1)
		return nil
	}
	tenants, campaignID, err := a.concerned(ctx, t)
	if err != nil {
		return fmt.Errorf("apply an answer: %w", err)
	}
	for _, tenant := range tenants {
		h := campaign.Happening{At: t.At, CampaignID: campaignID, MessageID: t.MessageID, Phone: content.Phone, Text: content.Text}
		if err := a.applyFor(ctx, tenant, t, h, content.Postback); err != nil {
			return fmt.Errorf("apply an answer to tenant %s: %w", tenant, err)
		}
	}
	return nil
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

func (a *Applier) applyFor(ctx context.Context, tenant string, t campaign.EventTask, h campaign.Happening, postback string) error {
	if t.Kind == campaign.EventReply {
		h.Kind = campaign.KindReplied
		if err := a.tell(ctx, tenant, t, h); err != nil {
			return err
		}
	}
	out, changes := optChange(t.Kind, h.Text, postback)
	if !changes {
		return nil
	}
	change := campaign.OptChange{Phone: h.Phone, Out: out, At: t.At}
	if out {
		// One that was out already, or came back since, is no news.
		news, err := a.OptOuts.Turns(ctx, tenant, change)
		if err != nil {
			return err
		}
		h.Kind = campaign.KindOptedOut
		if news {
			if err := a.tell(ctx, tenant, t, h); err != nil {
				return err
			}
		}
	}
	return a.OptOuts.Record(ctx, tenant, []campaign.OptChange{change})
}

// optChange tells whether an answer opts out or in: by an event of its own, or by
// one of the words that do so in Brazil, as its text or as what a suggestion that
// was tapped stands for.
func optChange(kind campaign.EventKind, text, postback string) (out, changes bool) {
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

// tell owes the happening to the tenant's endpoints, under a blob and an id that
// are the same however often the event comes.
func (a *Applier) tell(ctx context.Context, tenant string, t campaign.EventTask, h campaign.Happening) error {
	notices, err := a.Recorder.owed(ctx, tenant, h.Kind)
	if err != nil || len(notices) == 0 {
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
	return a.Recorder.owe(ctx, notices, blob)
}
