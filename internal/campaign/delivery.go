package campaign

import (
	"strings"
	"time"
)

// Kind is the kind of a webhook.
type Kind string

// The kinds of webhooks.
const (
	KindSent      Kind = "message.sent"
	KindDelivered Kind = "message.delivered"
	KindRead      Kind = "message.read"
	KindFailed    Kind = "message.failed"
	KindExpired   Kind = "message.expired"
	KindReplied   Kind = "message.replied"
	KindOptedOut  Kind = "message.opted_out"
	KindCompleted Kind = "campaign.completed" // only for endpoints that name it
	KindTest      Kind = "endpoint.test"      // only when a person asks for one
)

// Delivery is what an endpoint is owed: a row that is deleted once the endpoint has had
// it all. One with an ID stands in the Webhooks table. It holds entries of batches' logs
// that were posted and not taken, or that the endpoint's circuit kept from being posted,
// or else a webhook event. One without an ID is of the layout before: it is written in the
// transaction that writes a page of a batch's log.
type Delivery struct {
	ID      string // see Identified; "" in the layout before
	Entries []byte // of batches' logs, see ledger.PackFresh
	// New says that the delivery has no row: it was made of the entries of a task, which
	// nobody has posted before.
	New        bool
	Tenant     string
	EndpointID string
	Key        BatchKey // zero for a delivery that belongs to no batch
	Ordinal    int      // of the log's page
	Kind       Kind     // of a delivery that belongs to no batch: a text may be a reply and an opt-out
	Blob       string   // key of the WebhookEvent of a delivery that belongs to no batch
	Left       []int    // positions within the page or the entries that are owed still, empty for all
	Attempt    int      // posts of what is left that have failed
	Next       time.Time
	Dead       bool // the last attempt has failed: it can be resent
	// Parked says that the endpoint takes nothing at present: sweep does not see
	// the delivery until whoever finds the endpoint well again puts it back.
	Parked bool
	Ends   time.Time // when it is deleted, whatever has become of it
}

// Identified returns the delivery with the ID that follows from its endpoint and from what
// it is about. Whoever makes the same delivery again gives it the same ID.
func (n Delivery) Identified() Delivery {
	n.ID = Digest(strings.Join([]string{n.Tenant, n.EndpointID, string(n.Kind), n.Blob, string(n.Entries)}, "#"))
	return n
}

// Task is the task that asks for the delivery to be posted.
func (n Delivery) Task() NotifyTask {
	if n.ID != "" {
		return NotifyTask{DeliveryID: n.ID, Tenant: n.Tenant, EndpointID: n.EndpointID}
	}
	t := NotifyTask{Ordinal: n.Ordinal, Kind: n.Kind, Blob: n.Blob, Tenant: n.Tenant, EndpointID: n.EndpointID}
	if n.Blob == "" {
		t.BatchKey = n.Key.String()
	}
	return t
}
