package campaign

import "time"

// Listed is a campaign in the list of its tenant's.
type Listed struct {
	ID
	Name      string
	CreatedAt time.Time
	Cursor    string // the list goes on after it
}

// Summary is how far a campaign is as far as its own rows tell, without those of
// its batches.
type Summary struct {
	Batches     int
	Completed   int       // of its batches
	Accepted    int       // messages of all batches
	Scheduled   bool      // some batch was accepted with a schedule
	CancelledAt time.Time // zero for one that was not cancelled
}

// Search asks for messages of a campaign. What is nil or empty narrows nothing.
type Search struct {
	Batch  *string // a batch's name or id; a UID needs one unless AllBatches
	Status string  // an Outcome, or "pending"
	Phone  *string // in E.164
	UID    *string
	// AllBatches looks for a UID in all batches, of which a page looks through some.
	AllBatches bool
	Cursor     string // Found.Next of the page before
	Limit      int    // messages of a page
}

// Found is a page of messages. It may be short, or empty, and not the last.
type Found struct {
	Messages []FoundMessage
	Next     string // the cursor of the next page, "" after the last one
}

// FoundMessage is a message and what became of it.
type FoundMessage struct {
	Message
	Batch  Batch
	Latest Change // its Outcome is "" where nothing is known yet
	Index  int
}
