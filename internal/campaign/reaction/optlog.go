package reaction

import (
	"time"

	"campaign-dispatch/internal/campaign"
)

// LoggedOptOut is an entry of a tenant's log of opt-outs: an event by which a person opted out, who was not opted out
// before.
//
// An entry is written before its opt-out is recorded and counted. So every opt-out that a day counts has an entry. The
// opt-out of an entry may not be recorded yet: its event will be repeated, or is a dead letter. A number can have several
// entries, because the provider sent an event again before the opt-out was recorded, or the person opted in meanwhile.
// A reader that counts takes each number once a day.
type LoggedOptOut struct {
	ID    string // orders entries by arrival; contains no personal data
	Phone string // E.164, with the leading +; "" after an erasure
	At    time.Time
}

// NewLoggedOptOut returns the entry of an event that opts out a phone number. The same task gives the same entry.
func NewLoggedOptOut(t EventTask, phone string) LoggedOptOut {
	arrived := t.ArrivedAt
	if arrived.IsZero() { // queued by a version that did not set it
		arrived = t.At
	}
	return LoggedOptOut{ID: LoggedFrom(arrived) + campaign.Digest(t.Blob), Phone: phone, At: t.At}
}

// LoggedFrom returns the start of the IDs of the entries that arrived at a time.
func LoggedFrom(arrived time.Time) string { return startOf(arrived) }
