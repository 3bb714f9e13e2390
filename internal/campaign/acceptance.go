package campaign

import "time"

// Meta is what the dispatch calls of one campaign share.
type Meta struct {
	Name      string
	CreatedAt time.Time
	Batches   int // accepted so far; the newest packed set has this ordinal
	Cancelled bool
}

// PackedSet is the set of numbers of one batch, as numberset packs it. It never
// changes once it is written.
type PackedSet struct {
	Ordinal int // from 1
	Packed  []byte
}

// Answer is the 202 that an idempotency key already has.
type Answer struct {
	BodyHash []byte // SHA-256 of the request's body
	Body     []byte // the answer, or nil where it is long
	BlobKey  string // where a long answer rests
}

// AcceptQuery names the rows that judging a dispatch call needs. Parts that are
// empty are not read.
type AcceptQuery struct {
	Tenant         string
	ClientID       string
	IdempotencyKey string
	TemplateID     string
	CampaignID     string
	Name           string
	BatchID        string
	KnownSets      int  // packed sets up to this ordinal are known already
	Consistent     bool // read the packed sets consistently too
	Calls          bool // read the tenant's bucket of calls
}

// AcceptState is the answer to a Question; what does not exist is nil or empty.
type AcceptState struct {
	Credential *Credential
	Template   *Template
	Answer     *Answer
	Meta       *Meta
	Batch      *Batch // the batch of that BatchID
	NameTaken  bool   // a campaign of the tenant has the name
	Calls      CallBucket
	Sets       []PackedSet // in the order of their ordinals, after KnownSets
}

// AcceptCommand is all that accepting one dispatch call writes: whole or not at
// all.
type AcceptCommand struct {
	Batch    Batch
	Campaign string // the campaign's name
	Ordinal  int    // of the batch in its campaign: 1 creates the campaign
	Packed   []byte // the batch's numbers
	// CreatedAt is when the campaign was created, as it was read where it is
	// extended: another one may have its id once it is forgotten.
	CreatedAt time.Time

	ClientID       string
	IdempotencyKey string // empty: no answer is kept
	Answer         Answer
	AnswerUntil    time.Time
}
