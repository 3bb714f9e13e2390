package campaign

import (
	"slices"
	"time"
)

// Kind returns the webhook event type of the outcome. Stopped and revoked messages are
// reported as failed; the code gives the reason.
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
	case OutcomeTapped:
		return KindTapped
	case OutcomeClicked: // not posted
	}
	return ""
}

// Off reports whether the endpoint is disabled. Nothing is posted to it.
func (e Endpoint) Off() bool { return e.OffReason != "" }

// Subscribes reports whether the endpoint receives webhooks of the kind. Taps and campaign
// completion are sent only to endpoints that list them.
func (e Endpoint) Subscribes(kind Kind) bool {
	if e.Off() {
		return false
	}
	return slices.Contains(e.Kinds, string(kind)) || len(e.Kinds) == 0 && kind != KindCompleted && kind != KindTapped
}

// WebhookEvent is a webhook without a log entry: a reply, an opt-out, or the end of a
// campaign. It is stored as JSON under the delivery's blob key. Fields that the provider
// did not send are empty.
type WebhookEvent struct {
	Kind       Kind      `json:"kind"`
	EventID    string    `json:"eventId"` // unique and stable across repeats
	At         time.Time `json:"at"`
	CampaignID string    `json:"campaignId,omitempty"`
	MessageID  string    `json:"messageId,omitempty"`
	Phone      string    `json:"phone,omitempty"` // E.164, with the leading +
	Text       string    `json:"text,omitempty"`  // of a reply
	// Erased reports whether the phone number and the text were erased.
	Erased bool `json:"erased,omitempty"`
}
