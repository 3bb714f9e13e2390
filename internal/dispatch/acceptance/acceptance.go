// Package acceptance has the values that a dispatch call reads and writes.
package acceptance

import (
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/reach"
)

// Meta is the state that all dispatch calls of a campaign share.
type Meta struct {
	Name      string
	CreatedAt time.Time
	Batches   int // batches accepted so far; the newest packed set has this ordinal
	Cancelled bool
	Move      campaign.Move
	Test      bool // see Batch
	// Submission are the totals of the campaign's file.
	Submission campaign.SubmissionTotals
}

// PackedSet is the set of a batch's numbers, packed by numberset. Only an erasure changes it.
type PackedSet struct {
	Ordinal int // from 1
	Packed  []byte
}

// Answer is the 202 response stored for an idempotency key.
type Answer struct {
	BodyHash []byte // SHA-256 of the request body
	Body     []byte // response body, nil when it is stored in a blob
	BlobKey  string // blob key of a long response body
}

// KeptAnswer is an Answer as an erasure reads it.
type KeptAnswer struct {
	Tenant  string
	Key     [2]string // of its row
	Body    []byte    // nil when it is stored in a blob
	BlobKey string    // blob key of a long response
}

// Query selects the rows to read for a dispatch call. Empty fields select nothing.
type Query struct {
	Tenant         string
	ClientID       string
	IdempotencyKey string
	TemplateID     string
	// TemplateVersion is the version of the template to read, 0 for the current one.
	TemplateVersion int
	CampaignID      string
	Name            string
	BatchID         string
	Month           string // whose reservations of the tenant's batches are read, as 2026-11
	KnownSets       int    // skip packed sets up to this ordinal
	Consistent      bool   // read the packed sets consistently
	Calls           bool   // read the tenant's call bucket
}

// State is the result of a Query. Rows that do not exist are nil or empty.
type State struct {
	Credential *account.Credential
	Template   *campaign.Template
	Answer     *Answer
	Meta       *Meta
	Batch      *campaign.Batch // the batch with the queried BatchID
	NameOwner  string          // ID of the tenant's campaign with this name, or ""
	Calls      CallBucket
	Billing    campaign.Billing
	Hours      reach.TenantHours
	Reserved   campaign.MonthSpending // what the tenant's batches have reserved for the Month
	Sets       []PackedSet            // ordered by ordinal, after KnownSets
}

// Command lists the rows that one accepted dispatch call writes, in one transaction.
type Command struct {
	Batch    campaign.Batch
	Campaign string // campaign name
	Ordinal  int    // of the batch in its campaign; 1 creates the campaign
	Packed   []byte // the batch's phone numbers
	// CreatedAt is the campaign's creation time as read. The write fails if it differs,
	// because a deleted campaign's ID can be reused.
	CreatedAt time.Time
	// Moves is the number of reschedules of the campaign as read. The write of a part fails if
	// it differs, because a part has the campaign's due time.
	Moves int

	// AskedBy is the email address of who asked for the campaign's approval, "" without one.
	AskedBy string
	// Submission are the totals of the file after a part, zero for another batch.
	Submission campaign.SubmissionTotals

	Limits campaign.Spending // of the budget, for a batch with a reservation

	ClientID       string
	IdempotencyKey string // empty: store no response
	Answer         Answer
	AnswerUntil    time.Time
}
