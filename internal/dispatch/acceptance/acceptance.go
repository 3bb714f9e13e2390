// Package acceptance has the values that a dispatch call reads and writes.
package acceptance

import (
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/settings/account"
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

// Query selects the rows to read for a dispatch call. Empty fields select nothing.
type Query struct {
	Tenant         string
	ClientID       string
	IdempotencyKey string
	TemplateID     string
	CampaignID     string
	Name           string
	BatchID        string
	Date           string // whose reservations of the tenant's batches are read
	KnownSets      int    // skip packed sets up to this ordinal
	Consistent     bool   // read the packed sets consistently
	Calls          bool   // read the tenant's call bucket
}

// State is the result of an Query. Rows that do not exist are nil or empty.
type State struct {
	Credential *account.Credential
	Template   *campaign.Template
	Answer     *Answer
	Meta       *Meta
	Batch      *campaign.Batch // the batch with the queried BatchID
	NameTaken  bool            // the tenant already has a campaign with this name
	Calls      CallBucket
	Billing    campaign.Billing
	Reserved   campaign.Spending // what the tenant's batches have reserved for the Date
	Sets       []PackedSet       // ordered by ordinal, after KnownSets
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

// CallLimit is the token bucket limit of a tenant's dispatch calls. A Rate of 0 means no
// limit.
type CallLimit struct {
	Rate  int // calls per second
	Burst int // calls at once, at least 1
}

// CallBucket is the state of a tenant's token bucket.
type CallBucket struct {
	// Period counts the calls that found the bucket full.
	Period int
	// Next is the theoretical arrival time of the generic cell rate algorithm (GCRA). Each
	// call adds Every to it.
	Next time.Time
}

// Full reports whether no call of the bucket is used.
func (b CallBucket) Full(now time.Time) bool { return !b.Next.After(now) }

// Every returns the time per call, rounded up to microseconds. It is 0 for no limit.
func (l CallLimit) Every() time.Duration {
	if l.Rate <= 0 {
		return 0
	}
	rate := time.Duration(l.Rate)
	return (time.Second + (rate-1)*time.Microsecond) / (rate * time.Microsecond) * time.Microsecond
}

// Refill returns the time in which an empty bucket becomes full.
func (l CallLimit) Refill() time.Duration { return time.Duration(max(l.Burst, 1)) * l.Every() }

// Latest returns the latest Next with which a call is still admitted.
func (l CallLimit) Latest(now time.Time) time.Time {
	return now.Add(time.Duration(max(l.Burst, 1)-1) * l.Every())
}

// Wait returns the time until the next call is admitted, 0 if it is admitted now.
func (l CallLimit) Wait(b CallBucket, now time.Time) time.Duration {
	return max(b.Next.Sub(l.Latest(now)), 0)
}
