package campaign

import "time"

const day = 24 * time.Hour

// How long data is kept. docs/privacy.md lists it for people, the lifecycles in
// template.yaml do it to the objects on S3, and the rows carry the instant of
// their end; a test holds the three together.
const (
	// Retention is the life of a batch from its acceptance: of its payload, its
	// outcomes and what endpoints are owed of it. It may be sent a year ahead, and
	// what is paused, throttled or in the dead letters then has three months more.
	// A campaign, with its name and the numbers of all its batches, ends with the
	// last of them: till then it may grow, and no number may get a second message.
	Retention = 460 * day
	// ErrorFileLife is the life of a file of rejected numbers.
	ErrorFileLife = 30 * day
	// EventLife is the life of what the provider told, and of what endpoints are
	// owed of that.
	EventLife = 30 * day
	// AnswerLife is how long the 202 of an idempotency key is repeated, and
	// AnswerFileLife the life of one that is too long for its row.
	AnswerLife     = day
	AnswerFileLife = 2 * day
	// UploadLife is the life of a file that a person uploaded to send it.
	UploadLife = day
	// FailureLife is the life of the record of a webhook that was not taken.
	FailureLife = 30 * day
	// PostsLife is how long the posts of an hour to an endpoint are counted.
	PostsLife = 8 * day
	// AuditLife is the life of an entry of the audit log.
	AuditLife = 400 * day
	// FormLife is how long a form that was used is remembered, longer than any
	// session lasts.
	FormLife = 2 * day
	// SessionEndLife is how long the end of a person's sessions is remembered: longer
	// than a session can be renewed, and the last renewal lasts.
	SessionEndLife = day
	// RefreshLife is how long a refresh token is valid.
	RefreshLife = 30 * day
	// LastUseLife is how long it is known when a credential was used last.
	LastUseLife = 400 * day
	// EventsRepeated is longer than the provider repeats an event.
	EventsRepeated = 8 * day
	// RateLife is the life of what counts calls, longer than any window of them.
	RateLife = 10 * time.Minute
)

// Ends returns when the batch is deleted with all that hangs on it.
func (b Batch) Ends() time.Time {
	if b.AcceptedAt.IsZero() {
		return time.Time{}
	}
	return b.AcceptedAt.Add(Retention)
}

// Lifetime is what reports whether a campaign has ended.
type Lifetime struct {
	ID
	Name       string
	Batches    int       // accepted so far
	LastAt     time.Time // when the last of them was accepted
	Check      time.Time // when sweep looks at the campaign next
	Forgetting bool      // its rows are being deleted: nobody sees the campaign any more
}

// Ends returns when the campaign is forgotten, unless it has another batch by
// then.
func (l Lifetime) Ends() time.Time { return l.LastAt.Add(Retention) }
