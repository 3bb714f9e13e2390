package campaign

import "time"

// Circuit is what is known of an endpoint that keeps failing. While it is open
// nothing is posted to the endpoint but a probe now and then. An endpoint that is
// well has none.
type Circuit struct {
	Tenant     string
	EndpointID string
	Since      time.Time // when it opened, zero where an operator switched the endpoint on
	Probes     int       // probes that have failed
	// Next is when the endpoint is probed, or looked after once more where the
	// circuit is closing.
	Next time.Time
	// Closing says that the endpoint is well again: posts are free, and the
	// deliveries that were parked are being put back.
	Closing bool
	Drained bool // they were put back once: those that are found late are left
	Version int  // of the row, 0 where there is none
}

// Open reports whether nothing may be posted but probes.
func (c Circuit) Open() bool { return c.Version > 0 && !c.Closing }

// WebhookFailure is a post that failed. Only failures are recorded one by one.
type WebhookFailure struct {
	Tenant     string
	EndpointID string
	WebhookID  string
	Kind       Kind
	MessageID  string
	Status     int    // of the answer, 0 where there was none
	Code       string // why it counts as failed, a stable word
	Attempt    int    // failed attempts before this one
	At         time.Time
	Task       NotifyTask // of the delivery that it belongs to
	Position   int        // within the delivery's page or entries
	// Entry is the entry of the log that the webhook is about, see ledger.PackFresh, and
	// Blob the key of its WebhookEvent, where the delivery has an ID: either is enough to post
	// the webhook again when the delivery is gone.
	Entry []byte
	Blob  string
}

// Posts counts webhooks that were posted, those that were posted again too.
type Posts struct{ Taken, Failed int }

// HourlyPosts counts the webhooks that were posted to an endpoint within an hour,
// those that were posted again too.
type HourlyPosts struct {
	Hour   time.Time // its beginning
	Taken  int
	Failed int
}

// PostResult is what came of one post to an endpoint.
type PostResult struct {
	At     time.Time
	Status int    // of the answer, 0 where there was none
	Code   string // why it counts as failed, a stable word; "" where it was taken
	Took   time.Duration
}
