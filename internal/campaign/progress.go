package campaign

import "time"

// Campaign is a campaign with the progress of all its batches.
type Campaign struct {
	ID
	Name        string
	AskedBy     string // email address of who asked for its approval, "" without one
	CreatedAt   time.Time
	CancelledAt time.Time // zero if not cancelled
	Revoke      bool      // its cancellation also revokes messages at the provider
	Move        Move
	Submission  SubmissionTotals
	BatchCount  int // expired batches included
	Batches     []Progress
}

// Progress is a batch with its progress.
type Progress struct {
	Batch
	Head LedgerSummary
	// DeliveredBasic is the number of delivered basic messages. Only the store's Overview
	// sets it, and only if the messages have both classes, see Billed.
	DeliveredBasic int
}

// Tally counts a campaign's completed batches.
type Tally struct {
	Completed   int       // without batches cancelled before their release
	CompletedAt time.Time // when the last of them completed
	Batches     int
	Cancelled   bool // the campaign was cancelled
	PartsToCome int  // see SubmissionTotals
}

// IsCompleted reports whether the campaign is completed. A cancelled campaign never is, nor is one
// of whose file parts are to come.
func (t Tally) IsCompleted() bool { return t.allCompleted() && t.PartsToCome == 0 }

// AwaitsParts reports whether only parts that are to come keep the campaign from being completed.
func (t Tally) AwaitsParts() bool { return t.allCompleted() && t.PartsToCome > 0 }

func (t Tally) allCompleted() bool { return !t.Cancelled && t.Completed >= t.Batches }

// Status is the progress of a campaign or a batch, as shown to clients.
type Status string

// The statuses of a campaign or a batch.
const (
	StatusScheduled Status = "scheduled" // before its due time
	StatusSending   Status = "sending"   // some messages have no final outcome
	StatusCompleted Status = "completed" // every message has a final outcome
	StatusCancelled Status = "cancelled" // no more messages are sent
)

// Pending returns the number of messages without an outcome.
func (p Progress) Pending() int { return p.Accepted - p.Head.Known() }

// Done reports whether every message has a final outcome.
func (p Progress) Done() bool { return p.Head.Final() >= p.Accepted }

// Status returns the batch's status. A batch that is cancelled during sending stays sending
// until each of its messages has an outcome.
func (p Progress) Status() Status {
	switch {
	case p.State == BatchCancelled, p.Cancelled() && p.Pending() <= 0:
		return StatusCancelled
	case p.Done():
		return StatusCompleted
	case p.State == BatchPending && p.Scheduled && !p.Cancelled():
		return StatusScheduled
	}
	return StatusSending
}

// Status returns the campaign's status. It is sending while any of its batches is, and while parts
// of its file are to come, unless they wait with its other batches.
func (c Campaign) Status() Status {
	is := map[Status]bool{}
	for _, b := range c.Batches {
		is[b.Status()] = true
	}
	switch {
	case is[StatusSending]:
		return StatusSending
	case !c.CancelledAt.IsZero():
		return StatusCancelled
	case is[StatusScheduled]:
		return StatusScheduled
	case c.Submission.PartsToCome > 0:
		return StatusSending
	}
	return StatusCompleted
}

// Unsent reports whether no part of its file was accepted yet.
func (c Campaign) Unsent() bool {
	return c.BatchCount == 0 && c.Submission.Known() && c.CancelledAt.IsZero()
}

// Find returns the batch with a name or batchId, see BatchIDs.
func (c Campaign) Find(name string) (Progress, bool) {
	for _, id := range BatchIDs(name) {
		for _, b := range c.Batches {
			if b.BatchID == id {
				return b, true
			}
		}
	}
	return Progress{}, false
}
