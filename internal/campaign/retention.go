package campaign

import "time"

const day = 24 * time.Hour

// Retention periods. docs/privacy.md lists them, the lifecycle rules in template.yaml apply them
// to S3 objects, and rows expire by their TTL attribute. A test compares the three.
const (
	// Retention is how long a batch is kept after its acceptance, with its payload,
	// outcomes and pending webhooks. A batch can be scheduled a year ahead, and paused,
	// throttled or dead-lettered messages have three more months. A campaign is kept as
	// long as its last batch: a number must not get a second message while the campaign can
	// be extended.
	Retention     = 460 * day
	ErrorFileLife = 30 * day // of files of rejected numbers
	EventLife     = 30 * day // of provider events and their pending webhooks
	// AnswerLife is how long the 202 of an idempotency key is repeated. AnswerFileLife
	// applies to responses too long for the row.
	AnswerLife     = day
	AnswerFileLife = 2 * day
	UploadLife     = day       // of uploads of media files that were not finished or were refused
	FailureLife    = 30 * day  // of records of failed webhooks
	KeptPostLife   = 7 * day   // of the kept payloads of webhooks and the answers to them
	PostsLife      = 8 * day   // of the hourly post counts of an endpoint
	AuditLife      = 400 * day // of audit log entries
	BudgetLife     = 400 * day // of the reservations of a month, from its first day
	DayLife        = 400 * day // of the counts of a day
	OptOutLogLife  = 9 * day   // of the entries of the log of opt-outs
	// FormLife applies to the tokens of submitted forms. It is longer than any session.
	FormLife = 2 * day
	// SessionEndLife applies to the revocation of a user's sessions. It is longer than a session can last.
	SessionEndLife = day
	RefreshLife    = 30 * day  // validity of a refresh token
	LastUseLife    = 400 * day // of the last use of a credential
	EventsRepeated = 8 * day   // longer than the provider repeats an event
	// RateLife applies to call counters. It is longer than any of their windows.
	RateLife = 10 * time.Minute
)

// ExpiresAt returns when the batch and its data are deleted.
func (b Batch) ExpiresAt() time.Time {
	if b.AcceptedAt.IsZero() {
		return time.Time{}
	}
	return b.AcceptedAt.Add(Retention)
}

// Lifetime determines when a campaign expires.
type Lifetime struct {
	ID
	Name     string
	Batches  int       // accepted so far
	LastAt   time.Time // when the last batch was accepted
	Check    time.Time // when sweep checks the campaign next
	Expiring bool      // its rows are being deleted, and reads return not found
}

// ExpiresAt returns when the campaign expires, unless another batch is added.
func (l Lifetime) ExpiresAt() time.Time { return l.LastAt.Add(Retention) }
