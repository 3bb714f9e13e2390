package delivery

import (
	"time"

	"campaign-dispatch/internal/campaign"
)

// Event is a webhook without a log entry: a reply, an opt-out, or the end of a
// campaign. It is stored as JSON under the delivery's blob key. Fields that the provider
// did not send are empty.
type Event struct {
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

// KindOf returns the webhook event type of an outcome. Stopped and revoked messages are
// reported as failed; the code gives the reason.
func KindOf(o campaign.Outcome) Kind {
	switch o {
	case campaign.OutcomeSent:
		return KindSent
	case campaign.OutcomeDelivered:
		return KindDelivered
	case campaign.OutcomeRead:
		return KindRead
	case campaign.OutcomeExpired:
		return KindExpired
	case campaign.OutcomeFailed, campaign.OutcomeRevoked, campaign.OutcomeStopped:
		return KindFailed
	case campaign.OutcomeTapped:
		return KindTapped
	case campaign.OutcomeClicked: // not posted
	}
	return ""
}
