package submission

import (
	"strconv"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
)

// RequestLife is how long a request for approval can be decided after it was made, and after the
// campaign's time.
const RequestLife = 30 * 24 * time.Hour

// Decision is how a request for approval ended.
type Decision string

// The decisions.
const (
	DecisionApproved  Decision = "approved"
	DecisionRefused   Decision = "refused"
	DecisionWithdrawn Decision = "withdrawn" // by who asked, or with a discarded submission
	DecisionReturned  Decision = "returned"  // the template or the time was no longer good
)

// Approval is the last request for approval of a submission. It is zero without a request.
type Approval struct {
	AskedBy   string    `json:"askedBy,omitempty"` // email address
	AskedAt   time.Time `json:"askedAt,omitzero"`
	DecidedBy string    `json:"decidedBy,omitempty"` // email address
	DecidedAt time.Time `json:"decidedAt,omitzero"`
	Decision  Decision  `json:"decision,omitempty"` // "" while it waits
	Reason    string    `json:"reason,omitempty"`   // of a refusal
}

// Asked reports whether there is a request.
func (a Approval) Asked() bool { return a.AskedBy != "" }

// Asker returns who asked for an approval that was given, "" without one.
func (a Approval) Asker() string {
	if a.Decision != DecisionApproved {
		return ""
	}
	return a.AskedBy
}

// Decided returns the request with a decision.
func (a Approval) Decided(d Decision, by string, at time.Time) Approval {
	a.Decision, a.DecidedBy, a.DecidedAt = d, by, at
	return a
}

// openUntil returns until when a request can be decided, zero without one.
func (a Approval) openUntil(due time.Time) time.Time {
	if !a.Asked() {
		return time.Time{}
	}
	if due.After(a.AskedAt) {
		return due.Add(RequestLife)
	}
	return a.AskedAt.Add(RequestLife)
}

// ToDecide returns the number of submissions that a person may approve: those of others that nobody has decided.
func ToDecide(all []Submission, email string) (n int) {
	for _, sub := range all {
		if sub.State == StateApproval && sub.Approval.AskedBy != email {
			n++
		}
	}
	return n
}

// Shown identifies all that a person sees before the decision to send: what was checked, and when
// it goes, with the waves of its plan. A form has it, so that nobody decides about something else.
func (s Submission) Shown() string {
	shown := []string{s.Check.Hash, strconv.Itoa(s.Check.Number), s.Name, s.TemplateID, strconv.Itoa(s.TemplateVersion), s.Schedule, s.NotAfter}
	return campaign.Digest(strings.Join(append(shown, s.Plan.Terms()...), "\n"))
}
