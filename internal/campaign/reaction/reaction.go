// Package reaction has what recipients do: the events of the provider, taps, clicks and replies.
package reaction

import (
	"fmt"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
)

// EventTask is an event on the events queue: of the provider, a click, or a pause. It contains no
// phone number and no text; those are stored in a blob. It can arrive more than once.
type EventTask struct {
	Kind      EventKind `json:"kind"`
	EventID   string    `json:"eventId"`
	AgentID   string    `json:"agentId"`
	MessageID string    `json:"messageId,omitempty"` // if the provider sent one
	At        time.Time `json:"at"`
	Blob      string    `json:"blob,omitempty"` // key of the event's content
	// ArrivedAt is when the service received an event with a Blob. A repeated task has the same, an event that the
	// provider sends again another one.
	ArrivedAt time.Time `json:"arrivedAt,omitzero"`
	// Suggestion is the suggestion of EventClick. It counts from 1.
	Suggestion int `json:"suggestion,omitempty"`
	// Campaign is the campaign of EventPaused and EventResumed.
	Campaign campaign.ID `json:"campaign,omitzero"`
	Receives int         `json:"-"` // number of times the task was received, including this one
}

// Received sets the number of times the task was received.
func (t *EventTask) Received(times int) { t.Receives = times }

// EventKind is the type of a provider event.
type EventKind string

// The types of provider events.
const (
	EventDelivered    EventKind = "delivered"
	EventRead         EventKind = "read"
	EventExpired      EventKind = "expired"       // the TTL passed and the message was revoked
	EventRevokeFailed EventKind = "revoke_failed" // the TTL passed and the message could not be revoked
	EventReply        EventKind = "reply"         // a text or a tap
	EventOptOut       EventKind = "opt_out"       // UNSUBSCRIBE
	EventOptIn        EventKind = "opt_in"        // SUBSCRIBE
	EventClick        EventKind = "click"         // a click on a link, from this service
	EventPaused       EventKind = "paused"        // the start of a campaign's pause, from this service
	EventResumed      EventKind = "resumed"       // its end
)

// Personal reports whether events of the kind are about a person rather than a message. They need the number, which is
// stored in a blob.
func (k EventKind) Personal() bool { return k == EventReply || k == EventOptOut || k == EventOptIn }

// EventContent is the blob of a provider event. It contains the personal data that must not enter a queue.
type EventContent struct {
	Phone    string `json:"phone"`              // E.164, with the leading +
	Text     string `json:"text,omitempty"`     // the text that the recipient wrote or tapped
	Postback string `json:"postback,omitempty"` // postback data of the tapped suggestion, or else its text; "" for a typed reply
	// Pending marks the content of an opt-out or opt-in until it is recorded.
	Pending bool `json:"pending,omitempty"`
}

// MaxReplyText is the maximum number of bytes of a Reply's text. The row of a reply then costs one write unit.
const MaxReplyText = 800

// Reply is what a person wrote to the agent of a tenant. The provider does not say which message it answers.
type Reply struct {
	ID    string // orders replies by time; contains no personal data
	Phone string // E.164, with the leading +
	Text  string // at most MaxReplyText bytes, see excerptOf; "" for a file or a location
	At    time.Time
	// Doubtful marks a reply that may be an opt-out, until an admin decides or the number is opted out or in.
	Doubtful bool
}

// NewReply returns the reply of an event, which has the key of its content. The same event gives the same reply.
func NewReply(at time.Time, blob, phone, text string) Reply {
	return Reply{ID: ReplyFrom(at) + campaign.Digest(blob), Phone: phone, Text: excerptOf(text), At: at}
}

// ReplyFrom returns the start of the IDs of the replies at a time.
func ReplyFrom(at time.Time) string { return startOf(at) }

// startOf returns the start of an ID, which orders IDs by time.
func startOf(at time.Time) string { return fmt.Sprintf("%014d#", max(0, at.UnixMilli())) }

// Event identifies the event of the reply. The provider may send an event without a time
// twice: then both replies have the same Event.
func (r Reply) Event() string {
	_, event, _ := strings.Cut(r.ID, "#")
	return event
}
