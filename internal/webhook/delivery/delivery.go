// Package delivery has the values of webhooks: endpoints, deliveries, circuits and kept posts.
package delivery

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"
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
	KindPaused    Kind = "campaign.paused"    // only for endpoints that list it
	KindResumed   Kind = "campaign.resumed"   // only for endpoints that list it
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
	Kind       Kind      // of a webhook event; one text can be a reply and an opt-out
	Blob       string    // key of the Event, "" for log entries
	Pending    []int     // pending positions within the entries; empty means all
	Attempt    int       // failed posts of the pending webhooks
	Next       time.Time // of sweep's next check
	NotBefore  time.Time // of the next attempt, until sweep or a resend makes it; zero for any time
	Dead       bool      // the last attempt failed; the delivery can be resent
	// Parked reports whether the endpoint's circuit is open. Sweep skips the delivery until the circuit closes.
	Parked    bool
	ExpiresAt time.Time // expiry: the row is deleted then, posted or not
}

// Identified returns the delivery with an ID derived from its endpoint and content. Equal deliveries have equal IDs.
func (d Delivery) Identified() Delivery {
	d.ID = campaign.Digest(strings.Join([]string{d.Tenant, d.EndpointID, string(d.Kind), d.Blob, string(d.Entries)}, "#"))
	return d
}

// Task returns the task that posts the delivery.
func (d Delivery) Task() NotifyTask {
	return NotifyTask{DeliveryID: d.ID, Tenant: d.Tenant, EndpointID: d.EndpointID}
}

// NotifyTask asks to post webhooks to an endpoint: those of a delivery or of log entries. A
// task with neither asks to check the endpoint's circuit. It can arrive more than once.
type NotifyTask struct {
	DeliveryID string `json:"deliveryId,omitempty"`
	// Entries are log entries that were not posted yet, in base64; see ledger.PackNewEntries.
	// They have no delivery row.
	Entries    string `json:"entries,omitempty"`
	Tenant     string `json:"tenant"`
	EndpointID string `json:"endpointId"`
	Receives   int    `json:"-"` // number of times the task was received, including this one
}

// Received sets the number of times the task was received.
func (t *NotifyTask) Received(times int) { t.Receives = times }

// OfCircuit reports whether the task asks to check the endpoint's circuit.
func (t NotifyTask) OfCircuit() bool {
	return t.DeliveryID == "" && t.Entries == ""
}

// NotifyMessage is a message of the notify queue. Also lists tasks for other endpoints of
// the tenant about the same batches, so that the recipients are read once.
type NotifyMessage struct {
	NotifyTask
	Also []NotifyTask `json:"also,omitempty"`
}

// Tasks returns all tasks of the message, each with the receive count of the message.
func (m NotifyMessage) Tasks() []NotifyTask {
	tasks := append([]NotifyTask{m.NotifyTask}, m.Also...)
	for i := range tasks {
		tasks[i].Receives = m.Receives
	}
	return tasks
}

// Event is a webhook without a log entry: a reply, an opt-out, or the end or a
// pause of a campaign. It is stored as JSON under the delivery's blob key. Fields that the provider
// did not send are empty.
type Event struct {
	Kind       Kind      `json:"kind"`
	EventID    string    `json:"eventId"` // unique and stable across repeats
	At         time.Time `json:"at"`
	CampaignID string    `json:"campaignId,omitempty"`
	MessageID  string    `json:"messageId,omitempty"`
	Phone      string    `json:"phone,omitempty"`  // E.164, with the leading +
	Text       string    `json:"text,omitempty"`   // of a reply
	Erased     bool      `json:"erased,omitempty"` // whether the phone number and the text were erased
}

var kinds = map[campaign.Outcome]Kind{
	campaign.OutcomeSent: KindSent, campaign.OutcomeDelivered: KindDelivered, campaign.OutcomeRead: KindRead,
	campaign.OutcomeExpired: KindExpired, campaign.OutcomeTapped: KindTapped,
	campaign.OutcomeFailed: KindFailed, campaign.OutcomeRevoked: KindFailed, campaign.OutcomeStopped: KindFailed,
}

// KindOf returns the webhook event type of an outcome, "" for a click, which is not posted. Stopped and revoked messages are
// reported as failed; the code gives the reason.
func KindOf(o campaign.Outcome) Kind { return kinds[o] }

// Subject returns the subject of a change's webhook: the message, or its suggestion.
func Subject(c campaign.Change, key campaign.BatchKey) string {
	id := key.MessageID(c.Index)
	if c.Outcome == campaign.OutcomeTapped {
		id += "#" + strconv.Itoa(c.Suggestion)
	}
	return id
}

// WebhookID returns the ID of a webhook. It depends only on the subject and the kind, not
// on the endpoint or the attempt.
func WebhookID(subject string, kind Kind) string {
	sum := sha256.Sum256([]byte(subject + " " + string(kind)))
	return "msg_" + base64.RawURLEncoding.EncodeToString(sum[:18])
}

// KeptPost is one post to an endpoint, with its payload and the endpoint's answer. It is
// kept for KeptPostLife. It contains no header, because a header contains the signature.
type KeptPost struct {
	Tenant     string
	EndpointID string
	WebhookID  string
	Kind       Kind
	MessageID  string    // "" for webhooks that are not of a message, and in rows of earlier releases
	Attempt    int       // failed attempts before this one
	At         time.Time // in milliseconds
	Status     int       // HTTP status, 0 without a response
	Code       string    // stable error code, "" if it was delivered
	Took       time.Duration
	Payload    []byte // JSON, as posted
	Answer     EndpointAnswer
	// Entry or Blob is enough to post the webhook again, as in Failure. Both are empty in rows of earlier releases.
	Entry []byte
	Blob  string
}

// Delivered reports whether the endpoint accepted the post.
func (p KeptPost) Delivered() bool { return p.Code == "" }

// EndpointAnswer is the start of the body of an endpoint's answer.
type EndpointAnswer struct {
	Text    string // without the signatures and secrets of the endpoint
	Cut     bool   // the body is longer
	NotText bool   // the body is not UTF-8, and is not kept
}
