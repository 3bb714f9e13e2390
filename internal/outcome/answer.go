package outcome

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"campaign-dispatch/internal/campaign"
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
	tenants, campaignID, err := a.concerned(ctx, t)
	if err != nil {
		return fmt.Errorf("apply an answer: %w", err)
	}
	for _, tenant := range tenants {
		h := campaign.Happening{At: t.At, CampaignID: campaignID, MessageID: t.MessageID, Phone: content.Phone, Text: content.Text}
		if err := a.applyFor(ctx, tenant, t, h); err != nil {
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
// answers, where the provider tells, or all that send through its agent.
func (a *Applier) concerned(ctx context.Context, t campaign.EventTask) (tenants []string, campaignID string, err error) {
	if key, _, ours := campaign.ParseMessageID(t.MessageID); ours {
		if b, err := a.Batches.FindBatch(ctx, key); err == nil {
			return []string{b.Tenant}, b.CampaignID, nil
		}
	}
	tenants, err = a.Tenants.TenantsOf(ctx, t.AgentID)
	return tenants, "", err
}

func (a *Applier) applyFor(ctx context.Context, tenant string, t campaign.EventTask, h campaign.Happening) error {
	if t.Kind == campaign.EventReply {
		h.Kind = campaign.KindReplied
		if err := a.tell(ctx, tenant, t, h); err != nil {
			return err
		}
	}
	out, changes := optChange(t.Kind, h.Text)
	if !changes {
		return nil
	}
	if out {
		already, err := a.OptOuts.OptedOut(ctx, tenant, h.Phone)
		if err != nil {
			return err
		}
		h.Kind = campaign.KindOptedOut
		if !already {
			if err := a.tell(ctx, tenant, t, h); err != nil {
				return err
			}
		}
	}
	return a.OptOuts.Record(ctx, tenant, []campaign.OptChange{{Phone: h.Phone, Out: out, At: t.At}})
}

// optChange tells whether an answer opts out or in: by an event of its own, or by
// one of the words that do so in Brazil.
func optChange(kind campaign.EventKind, text string) (out, changes bool) {
	switch word := strings.ToLower(strings.Trim(text, " \t\r\n.!")); {
	case kind == campaign.EventOptOut, kind == campaign.EventReply && word == "parar":
		return true, true
	case kind == campaign.EventOptIn, kind == campaign.EventReply && (word == "começar" || word == "comecar"):
		return false, true
	}
	return false, false
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
