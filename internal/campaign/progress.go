package campaign

import (
	"time"

	"campaign-dispatch/internal/campaign/window"
)

// Campaign is a campaign with the progress of all its batches.
type Campaign struct {
	ID
	Name        string
	AskedBy     string // email address of who asked for its approval, "" without one
	CreatedAt   time.Time
	CancelledAt time.Time // zero if not cancelled
	PausedAt    time.Time // zero if not paused
	Revoke      bool      // its cancellation also revokes messages at the provider
	Move        Move
	Submission  SubmissionTotals
	BatchCount  int // expired batches included
	Batches     []BatchProgress
}

// BatchProgress is a batch with its progress.
type BatchProgress struct {
	Batch
	Head LedgerSummary
	// DeliveredBasic is the number of delivered basic messages. Only the store's Overview
	// sets it, and only if the messages have both classes, see Billed.
	DeliveredBasic int
	// ClosedZones are the messages by zone that wait for sending hours, see Batch.CountClosed.
	ClosedZones []window.Count
	// Goes is when the first of the unsent messages goes for which sending hours apply, and that no task sends yet. Only
	// reach.Timed sets it. It is zero if that is unknown, or if none goes.
	Goes time.Time
	// Never is the number of messages of a batch that is not released for which no sending hours are left. Only reach.Timed
	// sets it. It is 0 while the campaign is paused.
	Never int
}

// Progress counts a campaign's completed batches.
type Progress struct {
	Completed   int       // without batches cancelled before their release
	CompletedAt time.Time // when the last of them completed
	Batches     int
	Cancelled   bool      // the campaign was cancelled
	PausedAt    time.Time // zero if the campaign is not paused
	PartsToCome int       // see SubmissionTotals
	Holding     bool      // a wave waits for a person, see SubmissionTotals.Holding
}

// IsCompleted reports whether the campaign is completed. It is not after a cancellation, nor while
// parts of its file are to come.
func (p Progress) IsCompleted() bool { return p.allCompleted() && p.PartsToCome == 0 }

// AwaitsParts reports whether only parts that are to come keep the campaign from being completed.
func (p Progress) AwaitsParts() bool { return p.allCompleted() && p.PartsToCome > 0 }

func (p Progress) allCompleted() bool { return !p.Cancelled && p.Completed >= p.Batches }

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
func (p BatchProgress) Pending() int { return p.Accepted - p.Head.Known() }

// NeverGo returns the number of messages that wait for a send window that never opens. None does while sending is paused.
func (p BatchProgress) NeverGo() (messages int) {
	if p.Waits.Paused {
		return 0
	}
	messages = p.Never
	for _, h := range p.ClosedZones {
		if p.NeverOpens(h.Zone) {
			messages += h.Messages
		}
	}
	return messages
}

// FirstGoes returns when the first message of a batch goes that is not released.
func (p BatchProgress) FirstGoes() time.Time {
	if p.Goes.IsZero() {
		return p.Due
	}
	return p.Goes
}

// Closed returns the number of messages that wait for the sending hours, and are released.
func (p BatchProgress) Closed() (messages int) {
	for _, c := range p.ClosedZones {
		messages += c.Messages
	}
	return messages
}

// Done reports whether every message has a final outcome.
func (p BatchProgress) Done() bool { return p.Head.Final() >= p.Accepted }

// Status returns the batch's status. A batch that is cancelled during sending stays sending
// until each of its messages has an outcome.
func (p BatchProgress) Status() Status {
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
func (c Campaign) Find(name string) (BatchProgress, bool) {
	for _, id := range BatchIDs(name) {
		for _, b := range c.Batches {
			if b.BatchID == id {
				return b, true
			}
		}
	}
	return BatchProgress{}, false
}

// SubmissionTotals count the lines of a campaign's file, and the people in them. They are zero
// for a campaign without a file. Batches of the API are not counted.
//
//	Lines  = Invalid + Faulty + Repeated + People
//	People = Erased + InOtherBatches + NotAccepted + Accepted
type SubmissionTotals struct {
	Lines    int // that are not empty
	Invalid  int // lines with an invalid number
	Faulty   int // lines that are left out, because a value is missing or too long
	Repeated int // lines with the number of an earlier line
	People   int // lines that are none of these
	Withheld int // of People, who had opted out or were on a list when the file was checked

	Erased   int // people of the parts so far who were erased before their part was accepted
	Accepted int // messages of the accepted parts
	// InOtherBatches are the people of the parts so far whose number another batch of the campaign had before.
	InOtherBatches int
	// PartsToCome is the number of parts that are still to be accepted. It is 0 after a
	// cancellation, and after the rest of the file was discarded.
	PartsToCome int
	// Check is the number of the check that wrote the parts, Parts their number, and PartsDone the
	// number of the first ones that are accepted, or were left empty by erasures.
	Check, Parts, PartsDone int
	// Cells divide the parts of a large file. A campaign that goes in waves has a wave in each.
	Cells Cells
	// Until is when the submission ends. No part is accepted after it.
	Until time.Time
}

// Known reports whether the campaign has a file.
func (t SubmissionTotals) Known() bool { return t.Lines > 0 }

// NotAccepted returns the number of people who have no message. Their parts are still to be accepted, or never will be.
func (t SubmissionTotals) NotAccepted() int {
	return t.People - t.Erased - t.InOtherBatches - t.Accepted
}

// ToCome returns the number of people whose parts are still to be accepted.
func (t SubmissionTotals) ToCome() int {
	if t.PartsToCome == 0 {
		return 0
	}
	return t.NotAccepted()
}

// NeverAccepted returns the number of people whose parts are not accepted any more.
func (t SubmissionTotals) NeverAccepted() int { return t.NotAccepted() - t.ToCome() }

// PartsNotAccepted returns the numbers of the parts that are not accepted any more, none while parts are to
// come. They are kept as long as a payload. People who are erased from them stay counted in
// NeverAccepted, as erased messages stay counted in Accepted.
func (t SubmissionTotals) PartsNotAccepted() []int {
	if t.PartsToCome > 0 {
		return nil
	}
	left := make([]int, 0, t.Parts-t.PartsDone)
	for part := t.PartsDone + 1; part <= t.Parts; part++ {
		left = append(left, part)
	}
	return left
}

// WithPart returns the totals after the next part, which had people when it was checked. accepted is the number of its
// messages, and inOtherBatches that of the people who are left out because another batch has them. Both are 0 for a part
// that erasures have left empty.
func (t SubmissionTotals) WithPart(people, accepted, inOtherBatches int) SubmissionTotals {
	t.Erased += people - accepted - inOtherBatches
	t.Accepted += accepted
	t.InOtherBatches += inOtherBatches
	t.PartsToCome--
	t.PartsDone++
	return t
}

// EndedParts is a campaign none of whose parts is to come any more.
type EndedParts struct {
	SubmissionTotals

	CreatedAt time.Time // when its first batch was accepted, or when it was cancelled without one
}

// Takes reports whether stored totals may become next, those after a part. They may not if the
// part was counted already, or if no part may come any more.
func (t SubmissionTotals) Takes(next SubmissionTotals) bool {
	return !t.Known() || t.PartsToCome > next.PartsToCome
}

// At returns the totals at a time: after Until no part is to come.
func (t SubmissionTotals) At(now time.Time) SubmissionTotals {
	if !now.Before(t.Until) {
		t.PartsToCome = 0
	}
	return t
}
