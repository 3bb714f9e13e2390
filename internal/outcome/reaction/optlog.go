package reaction

import (
	"time"

	"campaign-dispatch/internal/campaign"
)

// LoggedOptOut is an entry of a tenant's log of opt-outs: an event by which a person opted out who was not opted out.
//
// An entry is written before its opt-out is recorded and counted. So every opt-out that a day counts has an entry, but an
// entry can be of an opt-out that is not recorded, because its event is repeated or is a dead letter. A number can have
// several entries: the provider sends an event again before the opt-out is recorded, or the person opts in meanwhile.
// Those who count take each number once a day.
type LoggedOptOut struct {
	ID     string // orders entries by arrival; contains no personal data
	Phone  string // E.164, with the leading +; "" after an erasure
	At     time.Time
	Origin campaign.Origin
}

// NewLoggedOptOut returns the entry of an event that opts out a phone number. The same task gives the same entry.
func NewLoggedOptOut(t EventTask, phone string) LoggedOptOut {
	arrived := t.ArrivedAt
	if arrived.IsZero() { // queued by a version that did not set it
		arrived = t.At
	}
	return LoggedOptOut{ID: LoggedFrom(arrived) + campaign.Digest(t.Blob), Phone: phone, At: t.At, Origin: campaign.OriginMessage}
}

// LoggedFrom returns the start of the IDs of the entries that arrived at a time.
func LoggedFrom(arrived time.Time) string { return startOf(arrived) }
