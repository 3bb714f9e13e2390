package campaign

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign/pattern"
)

// Tenant is a company that sends campaigns through one agent.
type Tenant struct {
	ID      string
	Name    string
	AgentID string
}

// Agent is a sender registered with the RCS provider.
type Agent struct {
	ID           string
	KeyParameter string    // SSM parameter with the service account's key document
	WebhookToken string    // client token that signs the provider's webhooks
	RemovedAt    time.Time // when an operator removed it; zero if not
	Rate         int       // maximum number of messages per second, 0 for no limit
}

// UnlimitedRate is the number of messages a second as which an agent without a rate counts: what 50 processes of send
// send for it, 64 messages at once in each and somewhat more than 0.15 s a message.
const UnlimitedRate = 17_000

// MostRate returns how many messages a second an agent may cause, 0 if it was removed.
func (a Agent) MostRate() int {
	switch {
	case !a.RemovedAt.IsZero():
		return 0
	case a.Rate == 0:
		return UnlimitedRate
	}
	return a.Rate
}

// MostRates returns the sum of the agents' MostRate.
func MostRates(agents []Agent) (sum int) {
	for _, a := range agents {
		sum += a.MostRate()
	}
	return sum
}

// ErrNotFound reports that an item does not exist.
var ErrNotFound = errors.New("not found")

// Later returns the later one of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// IgnoreNotFound returns nil for an error that wraps ErrNotFound, else the error.
func IgnoreNotFound(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// ErrExpired is an ErrNotFound for an expired item that is not deleted yet.
var ErrExpired = fmt.Errorf("expired: %w", ErrNotFound)

// ErrLostRace reports that a conditional write failed because another call changed the
// rows. Nothing was written. Read the rows and decide again.
var ErrLostRace = errors.New("concurrent update")

// ErrDamaged reports that stored data is corrupt. A retry does not help.
var ErrDamaged = errors.New("damaged")

// ErrNoMedia reports that a template shows an uploaded file that its tenant does not have, or that is being deleted.
var ErrNoMedia = errors.New("the template shows a file that was not uploaded, or was deleted")

var uuid = pattern.AtFirstUse(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// ParseUUID returns a UUID of the form 8-4-4-4-12 in lower case, whatever its version. It
// returns false for other texts. IDs of campaigns and templates are UUIDs.
func ParseUUID(s string) (id string, ok bool) {
	if !uuid().MatchString(s) {
		return "", false
	}
	return strings.ToLower(s), true
}

// Blob is a stored object in a listing.
type Blob struct {
	Key string
	At  time.Time // last modified
}

// Listed is an entry in the list of a tenant's campaigns, in the order of the time for which
// each was first scheduled, or of its creation.
type Listed struct {
	ID
	Name      string
	CreatedAt time.Time
	Cursor    string // the next page starts after it
	Test      bool   // it is a test message, see Batch
}

// IDsOf returns the IDs of campaigns in their order.
func IDsOf(listed []Listed) []string {
	ids := make([]string, len(listed))
	for i, c := range listed {
		ids[i] = c.CampaignID
	}
	return ids
}

// CursorAt returns a cursor of the list of campaigns: those that go before a time follow it.
func CursorAt(at time.Time) string { return fmt.Sprintf("%014d#", max(0, at.UnixMilli())) }

// Summary is a campaign's progress, read from the campaign's own rows, without its batches.
type Summary struct {
	Name        string
	TemplateID  string // of the first batch
	Batches     int
	Completed   int       // completed batches
	Moves       int       // revision of the last Move
	Accepted    int       // messages of all batches
	Scheduled   bool      // at least one batch has a schedule
	CancelledAt time.Time // zero if not cancelled
	PausedAt    time.Time // zero if not paused
	Submission  SubmissionTotals
}

// Finished reports whether the campaign is completed.
func (s Summary) Finished() bool {
	return s.CancelledAt.IsZero() && s.Completed >= s.Batches && s.Submission.PartsToCome == 0
}
