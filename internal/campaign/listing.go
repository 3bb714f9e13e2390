package campaign

import "time"

// Listed is an entry in the list of a tenant's campaigns, in the order of the time for which
// each was first scheduled, or of its creation.
type Listed struct {
	ID
	Name      string
	CreatedAt time.Time
	Cursor    string // the next page starts after it
	Test      bool   // it is a test message, see Batch
}

// Summary is a campaign's progress, read from the campaign's own rows, without its batches.
type Summary struct {
	Name        string
	Batches     int
	Completed   int       // completed batches
	Moves       int       // revision of the last Move
	Accepted    int       // messages of all batches
	Scheduled   bool      // at least one batch has a schedule
	CancelledAt time.Time // zero if not cancelled
	Submission  SubmissionTotals
}

// Finished reports whether the campaign is completed.
func (s Summary) Finished() bool {
	return s.CancelledAt.IsZero() && s.Completed >= s.Batches && s.Submission.PartsToCome == 0
}
