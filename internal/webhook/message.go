package webhook

import (
	"context"
	"encoding/json"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/webhook/delivery"
)

// Message is one webhook message.
type Message struct {
	ID        string // webhook-id, the same for all attempts
	Kind      delivery.Kind
	MessageID string
	Body      []byte
}

// document is the body of a webhook, as recommended by Standard Webhooks.
type document struct {
	ID        string        `json:"id"`
	Type      delivery.Kind `json:"type"`
	Timestamp string        `json:"timestamp"` // event time
	Data      any           `json:"data"`      // Data, or erased
}

// Data is the data of a webhook. Fields that do not apply to its kind are empty.
type Data struct {
	OccurredAt string `json:"occurredAt"`
	CampaignID string `json:"campaignId,omitempty"`
	Batch      string `json:"batch,omitempty"`
	UID        string `json:"uid,omitempty"`
	Phone      string `json:"phone,omitempty"`
	MessageID  string `json:"messageId,omitempty"`
	Sequence   int    `json:"sequence,omitempty"` // in the batch's log, from 1 and without gaps
	Code       string `json:"code,omitempty"`     // stable error code
	Reason     string `json:"reason,omitempty"`   // sentence for the code
	List       string `json:"list,omitempty"`     // of a message whose number is on a list
	Text       string `json:"text,omitempty"`     // of a reply
	Erased     bool   `json:"erased,omitempty"`   // the phone number, UID and text were erased

	Suggestion *campaign.TappedSuggestion `json:"suggestion,omitempty"` // of a tap
}

// erased is Data after erasure. It contains the required fields of its kind, empty.
type erased struct {
	Data
	UID   *string `json:"uid,omitempty"`
	Phone string  `json:"phone"`
}

func erase(kind delivery.Kind, d Data) erased {
	if kind == delivery.KindReplied || kind == delivery.KindOptedOut {
		return erased{Data: d}
	}
	return erased{Data: d, UID: new("")}
}

const instant = "2006-01-02T15:04:05.000Z"

// NewMessage builds a webhook message about the subject. It sets OccurredAt to at.
func NewMessage(subject string, kind delivery.Kind, at time.Time, d Data) (Message, error) {
	m := Message{ID: delivery.WebhookID(subject, kind), Kind: kind, MessageID: d.MessageID}
	d.OccurredAt = at.UTC().Format(instant)
	doc := document{ID: m.ID, Type: kind, Timestamp: d.OccurredAt, Data: d}
	if d.Erased {
		doc.Data = erase(kind, d)
	}
	body, err := json.Marshal(doc)
	m.Body = body
	return m, err
}

// suggestion returns the tapped suggestion as it was sent, nil if its template is damaged
// or deleted. It reads the message only if the template has variables.
func (n *Notifier) suggestion(ctx context.Context, b campaign.Batch, tap campaign.Change, erased bool) (*campaign.TappedSuggestion, error) {
	t, err := n.templates.OfBatch(ctx, n.Store, b, n.Now())
	var m campaign.Message
	if err == nil && !erased && len(t.Variables()) > 0 {
		m, err = payload.LatestMessage(ctx, n.reread, n.Blobs, b, tap.Index) // not cached: an erasure ends it
	}
	if isUnreadable(err) {
		return nil, nil //nolint:nilnil // the webhook is posted without it
	}
	if err != nil {
		return nil, err
	}
	return t.Tapped(tap.Suggestion, m), nil
}
