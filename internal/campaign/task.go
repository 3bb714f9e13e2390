package campaign

import (
	"encoding/json"
	"fmt"
	"time"
)

// Bodies returns tasks as the bodies of a queue's messages.
func Bodies[T any](tasks []T) ([][]byte, error) {
	bodies := make([][]byte, len(tasks))
	for i, t := range tasks {
		body, err := json.Marshal(t)
		if err != nil {
			return nil, fmt.Errorf("write a task: %w", err)
		}
		bodies[i] = body
	}
	return bodies, nil
}

// ReleaseTask asks for a batch's frames to be put on the send queue. It arrives
// from dispatch, from a schedule or from sweep, and may arrive more than once.
type ReleaseTask struct {
	BatchRef
}

// SendTask asks for one frame of a batch to be sent. It may arrive more than
// once: what the frame's recorded outcomes already hold is skipped.
type SendTask struct {
	BatchRef
	Frame int `json:"frame"`
	// Only are the indexes within the frame that are left to send; empty
	// means all of them.
	Only []int `json:"only,omitempty"`
	// Attempt counts the sends of what is left after throttled or transient
	// failures, from 0.
	Attempt int `json:"attempt,omitempty"`
	// Reservation is the share of the agent's rate that was leased for the task.
	Reservation Reservation `json:"turn,omitzero"`
	// Ticket is the position of a frame that waits for a turn, or had one.
	Ticket Ticket `json:"ticket,omitzero"`
}

// Outcome is what became of a message.
type Outcome string

// The outcomes of a message. A message moves from one to another only if that
// supersedes it.
const (
	OutcomeSent      Outcome = "sent"      // the provider accepted it
	OutcomeDelivered Outcome = "delivered" // it reached the device
	OutcomeRead      Outcome = "read"      // it was read
	OutcomeFailed    Outcome = "failed"    // it was refused for good, or its recipient had opted out
	OutcomeExpired   Outcome = "expired"   // its time passed before it was sent or delivered
	OutcomeRevoked   Outcome = "revoked"   // it was taken back from the provider
	OutcomeStopped   Outcome = "stopped"   // its campaign was cancelled before it was sent
)

// Change says that a message reached an outcome. Index counts within the batch.
type Change struct {
	Index   int
	Outcome Outcome
	Code    string // why it failed or expired, a stable word
	At      time.Time
	// First holds only for a message that has no outcome yet: whoever sends
	// knows nothing of what became of a message that was sent before.
	First bool
}

// ReleaseTask, SendTask, EventTask, NotifyTask and RevokeTask may all arrive
// more than once.

// EventTask is an event of the provider on the events queue. It holds no number
// and no text: those of a reply or an opt-out rest in a blob.
type EventTask struct {
	Kind      EventKind `json:"kind"`
	EventID   string    `json:"eventId"`
	AgentID   string    `json:"agentId"`
	MessageID string    `json:"messageId,omitempty"` // where the provider tells
	At        time.Time `json:"at"`
	Blob      string    `json:"blob,omitempty"` // key of the event's WebhookEvent
	// Receives is how often the task has arrived, this time included.
	Receives int `json:"-"`
}

// Received tells the task how often it has arrived.
func (t *EventTask) Received(times int) { t.Receives = times }

// EventKind is what an event of the provider tells.
type EventKind string

// The kinds of provider events.
const (
	EventDelivered    EventKind = "delivered"
	EventRead         EventKind = "read"
	EventExpired      EventKind = "expired"       // the ttl passed, the message was revoked
	EventRevokeFailed EventKind = "revoke_failed" // the ttl passed, the message could not be revoked
	EventReply        EventKind = "reply"         // a text or a tap
	EventOptOut       EventKind = "opt_out"       // UNSUBSCRIBE
	EventOptIn        EventKind = "opt_in"        // SUBSCRIBE
)

// NotifyTask asks for webhooks to be posted to an endpoint: some entries of batches'
// logs, what a delivery of the Webhooks table holds, or, of the layout before, what the
// endpoint has not had of one page of a batch's log. One that has none of these asks to
// look after the endpoint's circuit.
type NotifyTask struct {
	BatchKey string `json:"batchKey,omitempty"` // BatchKey.String(); empty for a delivery that belongs to no batch
	Ordinal  int    `json:"ordinal,omitempty"`
	Kind     Kind   `json:"kind,omitempty"` // of a delivery that belongs to no batch
	Blob     string `json:"blob,omitempty"` // key of the WebhookEvent of a delivery that belongs to no batch
	// DeliveryID names a delivery of the Webhooks table. The fields above are empty then.
	DeliveryID string `json:"noticeId,omitempty"`
	// Entries are entries of batches' logs that the endpoint has not been posted yet, in
	// base64, see ledger.PackFresh. No delivery is written of them, and the fields above
	// are empty then.
	Entries    string `json:"entries,omitempty"`
	Tenant     string `json:"tenant"`
	EndpointID string `json:"endpointId"`
	// Receives is how often the task has arrived, this time included.
	Receives int `json:"-"`
}

// Received tells the task how often it has arrived.
func (t *NotifyTask) Received(times int) { t.Receives = times }

// OfCircuit reports whether the task asks to look after the endpoint's circuit.
func (t NotifyTask) OfCircuit() bool {
	return t.BatchKey == "" && t.Blob == "" && t.DeliveryID == "" && t.Entries == ""
}

// NotifyMessage is a message of the notify queue: a task, and tasks of other endpoints of
// the tenant about the same batches, for which one process reads the recipients once.
type NotifyMessage struct {
	NotifyTask
	Also []NotifyTask `json:"also,omitempty"`
}

// Tasks returns the tasks of the message, each with how often the message has arrived.
func (m NotifyMessage) Tasks() []NotifyTask {
	tasks := append([]NotifyTask{m.NotifyTask}, m.Also...)
	for i := range tasks {
		tasks[i].Receives = m.Receives
	}
	return tasks
}

// RevokeTask asks for the messages of one frame that are not delivered to be
// revoked at the provider. One without a BatchID asks for the campaign to be
// cancelled: its batches, and with them their messages.
type RevokeTask struct {
	BatchRef
	Frame int `json:"frame"`
	// Attempt counts the looks at the frame that left something to do, from 0.
	Attempt int `json:"attempt,omitempty"`
}
