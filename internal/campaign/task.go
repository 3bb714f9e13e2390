package campaign

import "time"

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
	// Turn is the share of the agent's rate that was leased for the task.
	Turn Turn `json:"turn,omitzero"`
}

// Outcome is what became of a message.
type Outcome string

// The outcomes that sending knows.
const (
	OutcomeSent    Outcome = "sent"    // the provider accepted it
	OutcomeFailed  Outcome = "failed"  // the provider refused it for good
	OutcomeExpired Outcome = "expired" // its time had passed before it was sent
)

// Change says that a message reached an outcome. Index counts within the batch.
type Change struct {
	Index   int
	Outcome Outcome
	Code    string // why it failed or expired, a stable word
	At      time.Time
}
