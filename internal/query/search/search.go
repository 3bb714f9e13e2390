// Package search has the searches for messages of a campaign, and their results.
package search

import (
	"time"

	"campaign-dispatch/internal/campaign"
)

// Query is a query for messages of a campaign. Nil and empty fields do not filter.
type Query struct {
	Batch  *string // a batch's name or ID; a UID needs one unless AllBatches
	Status string  // an Outcome, or "pending"
	// Reaction restricts the search to messages with it.
	Reaction Reaction
	Phone    *string // in any form, valid or not
	UID      *string
	// AllBatches searches all batches for a UID. Each page covers some of the batches.
	AllBatches bool
	Cursor     string // Page.Next of the previous page
	Limit      int    // page size, in messages
}

// Page is a page of messages. A page can be short or empty without being the last one.
type Page struct {
	Messages []Message
	Next     string // cursor of the next page, "" after the last one
}

// Message is a message with its latest outcome.
type Message struct {
	campaign.Message
	Batch  campaign.Batch
	Latest campaign.Change // its Outcome is "" if there is none yet
	Index  int
	Taps   []Tap // in order
	Clicks []Tap // in order
}

// Status returns the status of the message.
func (m Message) Status() string { return m.Latest.Status() }

// Code returns why the message ended undelivered, "" for other messages.
func (m Message) Code() string {
	code, _ := m.Latest.Why()
	return code
}

// Tap is a tapped or clicked suggestion of a message. The suggestion is nil if its template is
// deleted.
type Tap struct {
	At time.Time `json:"at"`
	*campaign.TappedSuggestion
}

// TapsOf returns what was tapped of the message at an index, in the order of the log.
func TapsOf(t campaign.Template, m campaign.Message, index int, log []campaign.Change) (all []Tap) {
	for _, c := range log {
		if c.Index == index {
			all = append(all, Tap{At: c.At, TappedSuggestion: t.Tapped(c.Suggestion, m)})
		}
	}
	return all
}

// Reaction is what the recipient of a message did, for searches.
type Reaction string

// The reactions.
const (
	ReactionTapped   Reaction = "tapped"    // tapped a suggestion or clicked a link
	ReactionOptedOut Reaction = "opted_out" // had opted out, so that the message was not sent
	// ReactionSuppressed is that of a recipient on a list, so that the message was not sent.
	ReactionSuppressed Reaction = "suppressed"
)
