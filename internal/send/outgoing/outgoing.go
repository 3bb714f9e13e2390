// Package outgoing has the tasks that send frames, the messages that go to the provider, and the rate of an agent: its
// reservations, and the order in which campaigns that share it get them.
package outgoing

import (
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
)

// FailureKind selects how a failed send is handled.
type FailureKind int

// The failure kinds.
const (
	// Transient failures can succeed later. The message is sent again.
	Transient FailureKind = iota
	// Throttled means that the agent exceeds the provider's rate limit. The message is sent again, at a lower rate.
	Throttled
	// Permanent failures are final. The message ends as failed.
	Permanent
)

// Failure is the reason why the provider did not accept a message.
type Failure struct {
	Kind       FailureKind
	Code       string        // stable, never text from the provider
	RetryAfter time.Duration // provider's Retry-After, 0 if there was none
}

// Error returns a text with the failure's code.
func (f *Failure) Error() string { return "the provider refused the message: " + f.Code }

// Message is one message for the provider.
type Message struct {
	ID      string          // see BatchKey.MessageID; the provider ignores repeated IDs
	Phone   string          // E.164, with the leading +
	Content content.Content // rendered
	Traffic campaign.Traffic
	TTL     time.Duration // at least campaign.MinTTL, or 0 for campaign.MessageTTL
	// Postback returns the postback data of a suggestion, see content.AllSuggestions. It
	// counts from 1. The postback data is the suggestion's text if Postback is nil.
	Postback func(suggestion int) string
}

// SendTask asks to send one frame of a batch. It can arrive more than once: messages with a
// recorded outcome are skipped.
type SendTask struct {
	campaign.BatchRef
	Frame int `json:"frame"`
	// Released is when the frame was queued. A number that opted out before gets nothing from it.
	Released time.Time `json:"released,omitzero"`
	// Only lists the indexes within the frame that are left to send; empty means all.
	Only        []int       `json:"only,omitempty"`
	Attempt     int         `json:"attempt,omitempty"`    // counts the sends after throttled or transient failures, from 0
	Reservation Reservation `json:"reservation,omitzero"` // share of the agent's rate leased for the task
	Ticket      Ticket      `json:"ticket,omitzero"`      // position of a frame that waits for a reservation, or had one
}
