package webhook

import (
	"encoding/json"
	"time"

	"campaign-dispatch/internal/campaign"
)

// Message is one webhook as it is posted.
type Message struct {
	ID        string // the webhook-id: the same however often it is posted
	Kind      campaign.Kind
	MessageID string
	Body      []byte
}

// document is a webhook's body, in the form that Standard Webhooks recommends.
type document struct {
	ID        string        `json:"id"`
	Type      campaign.Kind `json:"type"`
	Timestamp string        `json:"timestamp"` // when it happened
	Data      any           `json:"data"`      // Data, or erased
}

// Data is what a webhook tells; what does not belong to its kind is empty.
type Data struct {
	OccurredAt string `json:"occurredAt"`
	CampaignID string `json:"campaignId,omitempty"`
	Batch      string `json:"batch,omitempty"`
	UID        string `json:"uid,omitempty"`
	Phone      string `json:"phone,omitempty"`
	MessageID  string `json:"messageId,omitempty"`
	Sequence   int    `json:"sequence,omitempty"` // of the batch's log, from 1 and without gaps
	Code       string `json:"code,omitempty"`     // why, a stable word
	Reason     string `json:"reason,omitempty"`   // the same for a person
	Text       string `json:"text,omitempty"`     // of a reply
	Erased     bool   `json:"erased,omitempty"`   // the number, the uid and the text were erased
}

// erased is Data that was erased. What its kind always has it has too, empty.
type erased struct {
	Data
	UID   *string `json:"uid,omitempty"`
	Phone string  `json:"phone"`
}

func erase(kind campaign.Kind, d Data) erased {
	if kind == campaign.KindReplied || kind == campaign.KindOptedOut {
		return erased{Data: d}
	}
	return erased{Data: d, UID: new("")}
}

const instant = "2006-01-02T15:04:05.000Z"

// NewMessage writes the webhook of a kind that tells of a subject what happened at an
// instant; it fills in OccurredAt.
func NewMessage(subject string, kind campaign.Kind, at time.Time, d Data) (Message, error) {
	l := Message{ID: campaign.WebhookID(subject, kind), Kind: kind, MessageID: d.MessageID}
	d.OccurredAt = at.UTC().Format(instant)
	told := document{ID: l.ID, Type: kind, Timestamp: d.OccurredAt, Data: d}
	if d.Erased {
		told.Data = erase(kind, d)
	}
	body, err := json.Marshal(told)
	l.Body = body
	return l, err
}
