package campaign

import "time"

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
)

// Notice is what an endpoint is owed of one page of a batch's log: a row that
// is written in the transaction which writes the page, and deleted once the
// endpoint has had it all.
type Notice struct {
	Tenant     string
	EndpointID string
	Key        BatchKey // zero for a notice that belongs to no batch
	Ordinal    int      // of the log's page
	Blob       string   // content of a notice that belongs to no batch, such as a reply
	Left       []int    // positions within the page that are owed still, empty for all
	Attempt    int      // posts of what is left that have failed
	Next       time.Time
	Dead       bool // the last attempt has failed: it can be resent
}
