package campaign

import (
	"regexp"
	"strings"
	"time"
)

// Campaign is a campaign with all its batches and how far they are.
type Campaign struct {
	ID
	Name        string
	CreatedAt   time.Time
	CancelledAt time.Time // zero for one that was not cancelled
	Revoke      bool      // its cancellation takes back what the provider has, too
	Batches     []Progress
}

// Progress is a batch and how far it is.
type Progress struct {
	Batch
	Head LedgerSummary
}

// Tally is how many of a campaign's batches have ended.
type Tally struct {
	Completed   int       // batches of which nothing more has to come, less those that were cancelled before their release
	CompletedAt time.Time // when the last of them was
	Batches     int
	Cancelled   bool // the campaign was
}

// Ended reports whether the campaign is completed. One that was cancelled never is,
// whatever its batches had come to: its status is cancelled.
func (t Tally) Ended() bool { return !t.Cancelled && t.Completed >= t.Batches }

// Status is how far a campaign or a batch is, as its client sees it.
type Status string

// The statuses of a campaign or a batch.
const (
	StatusScheduled Status = "scheduled" // it waits for its time
	StatusSending   Status = "sending"   // some message may still change its outcome for the better
	StatusCompleted Status = "completed" // every message has its last outcome
	StatusCancelled Status = "cancelled" // nothing more of it is sent
)

// Pending returns how many messages have no outcome yet.
func (p Progress) Pending() int { return p.Accepted - p.Head.Known() }

// Done reports whether every message has an outcome after which nothing has to
// come.
func (p Progress) Done() bool { return p.Head.Settled() >= p.Accepted }

// Status returns how far the batch is. One that was cancelled while it was being
// sent is sending until the last message that the provider does not have was
// stopped.
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

// Status returns how far the campaign is: it is sending as long as one of its
// batches is.
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
	}
	return StatusCompleted
}

// Find returns the batch that a client names: see BatchIDs.
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

var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// ParseCampaignID returns a campaign's id as it is compared, in lower case: a
// UUID in its 8-4-4-4-12 form, whatever its version; and false for other texts.
func ParseCampaignID(s string) (string, bool) { return strings.ToLower(s), uuid.MatchString(s) }
