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

// Search is a query for messages of a campaign. Nil and empty fields do not filter.
type Search struct {
	Batch  *string // a batch's name or ID; a UID needs one unless AllBatches
	Status string  // an Outcome, or "pending"
	// Reaction restricts the search to messages with it.
	Reaction Reaction
	Phone    *string // E.164
	UID      *string
	// AllBatches searches all batches for a UID. Each page covers some of the batches.
	AllBatches bool
	Cursor     string // Found.Next of the previous page
	Limit      int    // page size, in messages
}

// Found is a page of messages. A page can be short or empty without being the last one.
type Found struct {
	Messages []FoundMessage
	Next     string // cursor of the next page, "" after the last one
}

// FoundMessage is a message with its latest outcome.
type FoundMessage struct {
	Message
	Batch  Batch
	Latest Change // its Outcome is "" if there is none yet
	Index  int
	Taps   []FoundTap // in order
	Clicks []FoundTap // in order
}

// FoundTap is a tapped or clicked suggestion of a message. The suggestion is nil if its template is
// deleted.
type FoundTap struct {
	At time.Time `json:"at"`
	*TappedSuggestion
}
