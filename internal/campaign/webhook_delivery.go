package campaign

import (
	"strings"
	"time"
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

// WebhookDelivery is an outbox row: webhooks pending for an endpoint. It is deleted after all of
// them are posted.
//
// A delivery with an ID is a row of the Webhooks table. It contains log entries that could
// not be posted, or one webhook event. A delivery without an ID has the former layout: it
// is written in the transaction that writes a log page.
type WebhookDelivery struct {
	ID      string // see Identified; "" in the former layout
	Entries []byte // log entries, see ledger.PackNewEntries
	// Unsaved reports whether the delivery has no row yet: it was created from a task's
	// entries, which no one has posted before.
	Unsaved    bool
	Tenant     string
	EndpointID string
	Key        BatchKey // zero for a delivery without a batch
	Ordinal    int      // of the log page
	Kind       Kind     // set for a delivery without a batch; one text can be a reply and an opt-out
	Blob       string   // key of the WebhookEvent of a delivery without a batch
	Left       []int    // pending positions within the page or the entries; empty means all
	Attempt    int      // failed posts of the pending webhooks
	Next       time.Time
	Dead       bool // the last attempt failed; the delivery can be resent
	// Parked reports whether the endpoint's circuit is open. Sweep skips the delivery
	// until the circuit closes.
	Parked    bool
	ExpiresAt time.Time // expiry: the row is deleted then, posted or not
}

// Identified returns the delivery with an ID derived from its endpoint and content. Equal
// deliveries have equal IDs.
func (d WebhookDelivery) Identified() WebhookDelivery {
	d.ID = Digest(strings.Join([]string{d.Tenant, d.EndpointID, string(d.Kind), d.Blob, string(d.Entries)}, "#"))
	return d
}

// Task returns the task that posts the delivery.
func (d WebhookDelivery) Task() NotifyTask {
	if d.ID != "" {
		return NotifyTask{DeliveryID: d.ID, Tenant: d.Tenant, EndpointID: d.EndpointID}
	}
	t := NotifyTask{Ordinal: d.Ordinal, Kind: d.Kind, Blob: d.Blob, Tenant: d.Tenant, EndpointID: d.EndpointID}
	if d.Blob == "" {
		t.BatchKey = d.Key.String()
	}
	return t
}
