package campaign

import (
	"encoding/json"
	"fmt"
	"time"
)

// Bodies encodes tasks as queue message bodies.
func Bodies[T any](tasks []T) ([][]byte, error) {
	bodies := make([][]byte, len(tasks))
	for i, t := range tasks {
		body, err := json.Marshal(t)
		if err != nil {
			return nil, fmt.Errorf("encode task: %w", err)
		}
		bodies[i] = body
	}
	return bodies, nil
}

// ReleaseTask asks to queue a batch's frames. Dispatch, the schedule and sweep send it.
// It can arrive more than once.
type ReleaseTask struct {
	BatchRef
}

// SendTask asks to send one frame of a batch. It can arrive more than once: messages with a
// recorded outcome are skipped.
type SendTask struct {
	BatchRef
	Frame int `json:"frame"`
	// Only lists the indexes within the frame that are left to send; empty means all.
	Only []int `json:"only,omitempty"`
	// Attempt counts the sends after throttled or transient failures, from 0.
	Attempt int `json:"attempt,omitempty"`
	// Reservation is the share of the agent's rate leased for the task.
	Reservation Reservation `json:"reservation,omitzero"`
	// Ticket is the position of a frame that waits for a reservation, or had one.
	Ticket Ticket `json:"ticket,omitzero"`
}

// Outcome is the delivery status of a message.
type Outcome string

// The outcomes of a message. See Supersedes for the allowed changes.
const (
	OutcomeSent      Outcome = "sent"      // accepted by the provider
	OutcomeDelivered Outcome = "delivered" // received by the device
	OutcomeRead      Outcome = "read"      // read by the recipient
	OutcomeFailed    Outcome = "failed"    // refused permanently, or the recipient had opted out
	OutcomeExpired   Outcome = "expired"   // its time passed before it was sent or delivered
	OutcomeRevoked   Outcome = "revoked"   // revoked at the provider
	OutcomeStopped   Outcome = "stopped"   // the campaign was cancelled before it was sent
)

// OutcomeTapped is a tap on a suggestion of a message. It is an entry of the log of taps,
// and never the status of a message.
const OutcomeTapped Outcome = "tapped"

// OutcomeClicked is a click on a link of a message. It is an entry of the log of clicks, and
// never the status of a message.
const OutcomeClicked Outcome = "clicked"

// Change is a message's change to an outcome. Index counts within the batch.
type Change struct {
	Index   int
	Outcome Outcome
	Code    string // why it failed or expired, stable
	At      time.Time
	// First changes apply only to messages without an outcome. Senders set it because they
	// do not read the current outcome.
	First bool
	// Suggestion is the suggestion of OutcomeTapped or OutcomeClicked, see
	// content.AllSuggestions. It counts from 1.
	Suggestion int
}

// EventTask is an event on the events queue: of the provider, or a click. It contains no
// phone number and no text; those are stored in a blob. It can arrive more than once.
type EventTask struct {
	Kind      EventKind `json:"kind"`
	EventID   string    `json:"eventId"`
	AgentID   string    `json:"agentId"`
	MessageID string    `json:"messageId,omitempty"` // if the provider sent one
	At        time.Time `json:"at"`
	Blob      string    `json:"blob,omitempty"` // key of the event's content
	// Suggestion is the suggestion of EventClick. It counts from 1.
	Suggestion int `json:"suggestion,omitempty"`
	// Receives is the number of times the task was received, including this one.
	Receives int `json:"-"`
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
)

// NotifyTask asks to post webhooks to an endpoint: those of a delivery or of log entries. A
// task with neither asks to check the endpoint's circuit. It can arrive more than once.
type NotifyTask struct {
	DeliveryID string `json:"deliveryId,omitempty"`
	// Entries are log entries that were not posted yet, in base64; see ledger.PackNewEntries.
	// They have no delivery row.
	Entries    string `json:"entries,omitempty"`
	Tenant     string `json:"tenant"`
	EndpointID string `json:"endpointId"`
	// Receives is the number of times the task was received, including this one.
	Receives int `json:"-"`
}

// Received sets the number of times the task was received.
func (t *NotifyTask) Received(times int) { t.Receives = times }

// OfCircuit reports whether the task asks to check the endpoint's circuit.
func (t NotifyTask) OfCircuit() bool {
	return t.DeliveryID == "" && t.Entries == ""
}

// NotifyMessage is a message of the notify queue. Also lists tasks for other endpoints of
// the tenant about the same batches, so that the recipients are read once.
type NotifyMessage struct {
	NotifyTask
	Also []NotifyTask `json:"also,omitempty"`
}

// Tasks returns all tasks of the message, each with the receive count of the message.
func (m NotifyMessage) Tasks() []NotifyTask {
	tasks := append([]NotifyTask{m.NotifyTask}, m.Also...)
	for i := range tasks {
		tasks[i].Receives = m.Receives
	}
	return tasks
}

// RevokeTask asks to revoke the undelivered messages of one frame at the provider. A task
// without a BatchID asks to complete the campaign's cancellation or Move. It can arrive
// more than once.
type RevokeTask struct {
	BatchRef
	Frame int `json:"frame"`
	// Attempt counts the attempts that left messages to revoke, from 0.
	Attempt int `json:"attempt,omitempty"`
}
