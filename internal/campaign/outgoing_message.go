package campaign

import "time"

// FailureKind says what to do about a message that the provider did not take.
type FailureKind int

// The kinds of failure.
const (
	// Transient failures may pass: the message is sent again later.
	Transient FailureKind = iota
	// Throttled means that messages come too fast: later, and slower.
	Throttled
	// Permanent failures stay: the message ends as failed.
	Permanent
)

// Failure is why the provider did not take a message, as data for whoever
// decides what becomes of it.
type Failure struct {
	Kind FailureKind
	Code string // a stable word, never text of the provider
	// RetryAfter is how long the provider asked to wait, 0 where it named no
	// time.
	RetryAfter time.Duration
}

// Error names the failure's code.
func (f *Failure) Error() string { return "the provider refused the message: " + f.Code }

// MessageTTL is how long the provider tries to deliver a message, where its
// batch sets no earlier end.
const MessageTTL = 24 * time.Hour

// OutgoingMessage is one message as the provider gets it.
type OutgoingMessage struct {
	ID      string   // see BatchKey.MessageID: the provider ignores one that it has
	Phone   string   // E.164, with the leading +
	Content Template // rendered
	TTL     time.Duration
}

// TooLate reports whether nothing of the batch may be sent any more.
func (b Batch) TooLate(now time.Time) bool { return !b.NotAfter.IsZero() && now.After(b.NotAfter) }

// AnswerGrace is how long after its ttl a message without an answer is given
// before it ends as expired.
const AnswerGrace = 2 * time.Hour
