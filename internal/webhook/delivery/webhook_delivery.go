// Package delivery has the values of webhooks: endpoints, deliveries, circuits and kept posts.
package delivery

import (
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
)

// Kind is a webhook event type.
type Kind string

// The webhook event types.
const (
	KindSent      Kind = "message.sent"
	KindDelivered Kind = "message.delivered"
	KindRead      Kind = "message.read"
	KindFailed    Kind = "message.failed"
	KindExpired   Kind = "message.expired"
	KindReplied   Kind = "message.replied"
	KindOptedOut  Kind = "message.opted_out"
	KindTapped    Kind = "message.tapped"     // only for endpoints that list it
	KindCompleted Kind = "campaign.completed" // only for endpoints that list it
	KindTest      Kind = "endpoint.test"      // only on request
)

// Delivery is an outbox row: webhooks pending for an endpoint. It contains log entries
// that could not be posted, or one webhook event. It is deleted after all of them are posted.
type Delivery struct {
	ID      string // see Identified
	Entries []byte // log entries, see ledger.PackNewEntries
	// Unsaved reports whether the delivery has no row yet: it was created from a task's
	// entries, which no one has posted before.
	Unsaved    bool
	Tenant     string
	EndpointID string
	Kind       Kind   // of a webhook event; one text can be a reply and an opt-out
	Blob       string // key of the Event, "" for log entries
	Left       []int  // pending positions within the entries; empty means all
	Attempt    int    // failed posts of the pending webhooks
	Next       time.Time
	Dead       bool // the last attempt failed; the delivery can be resent
	// Parked reports whether the endpoint's circuit is open. Sweep skips the delivery
	// until the circuit closes.
	Parked    bool
	ExpiresAt time.Time // expiry: the row is deleted then, posted or not
}

// Identified returns the delivery with an ID derived from its endpoint and content. Equal
// deliveries have equal IDs.
func (d Delivery) Identified() Delivery {
	d.ID = campaign.Digest(strings.Join([]string{d.Tenant, d.EndpointID, string(d.Kind), d.Blob, string(d.Entries)}, "#"))
	return d
}

// Task returns the task that posts the delivery.
func (d Delivery) Task() NotifyTask {
	return NotifyTask{DeliveryID: d.ID, Tenant: d.Tenant, EndpointID: d.EndpointID}
}
