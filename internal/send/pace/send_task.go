package pace

import "campaign-dispatch/internal/campaign"

// SendTask asks to send one frame of a batch. It can arrive more than once: messages with a
// recorded outcome are skipped.
type SendTask struct {
	campaign.BatchRef
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
