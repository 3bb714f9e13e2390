package campaign

import (
	"slices"
	"time"
)

// Kind returns the kind of the webhooks that tell of the outcome. A message that
// was stopped or revoked has failed, as its client sees it; the code says why.
func (o Outcome) Kind() Kind {
	switch o {
	case OutcomeSent:
		return KindSent
	case OutcomeDelivered:
		return KindDelivered
	case OutcomeRead:
		return KindRead
	case OutcomeExpired:
		return KindExpired
	case OutcomeFailed, OutcomeRevoked, OutcomeStopped:
		return KindFailed
	}
	return ""
}

// Off reports whether the endpoint was switched off: it is owed nothing new, and
// nothing is posted to it.
func (e Endpoint) Off() bool { return e.OffReason != "" }

// Wants reports whether webhooks of the kind are owed to the endpoint. The end of a
// campaign is told only to endpoints that name it.
func (e Endpoint) Wants(kind Kind) bool {
	if e.Off() {
		return false
	}
	return slices.Contains(e.Kinds, string(kind)) || len(e.Kinds) == 0 && kind != KindCompleted
}

// WebhookEvent is the content of a delivery that belongs to no page of a log, in
// JSON under the delivery's blob key: a reply, an opt-out, or the end of a
// campaign. What the provider does not tell is empty.
type WebhookEvent struct {
	Kind       Kind      `json:"kind"`
	EventID    string    `json:"eventId"` // tells it from all others, stable however often it comes
	At         time.Time `json:"at"`
	CampaignID string    `json:"campaignId,omitempty"`
	MessageID  string    `json:"messageId,omitempty"`
	Phone      string    `json:"phone,omitempty"` // E.164, with the leading +
	Text       string    `json:"text,omitempty"`  // of a reply
	// Erased says that the number and the text were erased.
	Erased bool `json:"erased,omitempty"`
}
