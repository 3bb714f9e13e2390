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

// ReleaseTask asks to queue a batch's frames. Dispatch, the schedule and sweep send it. It can arrive more than once.
type ReleaseTask struct {
	BatchRef
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
	List    int    // number of the list, for CodeSuppressed
	At      time.Time
	// First changes apply only to messages without an outcome. Senders set it because they
	// do not read the current outcome.
	First bool
	// Suggestion is the suggestion of OutcomeTapped or OutcomeClicked, see content.AllSuggestions. It counts from 1.
	Suggestion int
}

// RevokeTask asks to revoke the undelivered messages of one frame at the provider. A task
// without a BatchID asks to complete the campaign's cancellation or Move. It can arrive
// more than once.
type RevokeTask struct {
	BatchRef
	Frame   int `json:"frame"`
	Attempt int `json:"attempt,omitempty"` // counts the attempts that left messages to revoke, from 0
}
