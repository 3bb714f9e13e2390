// Package campaign defines the domain types of the service: campaigns, batches, templates,
// messages, queue tasks and message outcomes. It imports only the standard library, packages
// below it and package e164.
package campaign

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/campaign/window"
)

// FrameSize is the number of messages in a frame. A frame is the unit of compression, queueing and sending.
const FrameSize = 100

// MaxMessages is the maximum number of messages in one dispatch call. It also bounds the
// decoding of stored batches: lowering it makes batches unreadable, and raising it takes two
// deployments, because the previous version refuses to read larger batches.
const MaxMessages = 2000

// ID identifies a campaign. CampaignID is unique only within its tenant.
type ID struct {
	Tenant     string `json:"tenant"`
	CampaignID string `json:"campaignId"` // a UUID in lower case
}

// BatchRef identifies a batch. It contains no client text except the campaign's UUID, so it
// can appear in queues and logs.
type BatchRef struct {
	ID
	BatchID string `json:"batchId"` // see BatchID
}

// TracedBatch returns what a trace says of a task of the batch. It has no phone number and no text.
func (r BatchRef) TracedBatch() (campaignID, batchID string) { return r.CampaignID, r.BatchID }

// BatchID derives a batch's identifier from the name given by the client. The call that
// creates a campaign can omit the name; "" has its own identifier. Names are compared byte
// for byte and can be long. The identifier has 43 URL-safe characters.
func BatchID(name string) string { return Digest(name) }

// BatchIDs returns the identifiers to look for, in order. A client may pass a batch's name or its
// batchId; the name wins.
func BatchIDs(name string) []string { return []string{BatchID(name), name} }

// Digest returns the SHA-256 of a text as 43 URL-safe characters, for use in keys.
func Digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// BatchKey is a random 80-bit identifier of a batch. Message IDs are derived from it.
type BatchKey [10]byte

// String returns the key as 20 hexadecimal digits.
func (k BatchKey) String() string { return hex.EncodeToString(k[:]) }

// ParseBatchKey parses the result of String.
func ParseBatchKey(s string) (BatchKey, error) {
	var k BatchKey
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(k) {
		return k, fmt.Errorf("batch key %q is not 20 hexadecimal digits", s)
	}
	copy(k[:], b)
	return k, nil
}

// MessageID returns the provider's ID of the batch's message at index. It has the shape of
// an RFC 9562 version 4 UUID and encodes the key and the index, so every send of a message
// uses the same ID.
func (k BatchKey) MessageID(index int) string {
	var u [16]byte
	copy(u[0:6], k[0:6])
	u[6] = 0x40
	u[7] = k[6]
	u[8] = 0x80
	copy(u[9:12], k[7:10])
	binary.BigEndian.PutUint16(u[14:], uint16(index)) //nolint:gosec // an index is below MaxMessages
	h := hex.EncodeToString(u[:])
	return h[0:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// ParseMessageID returns the batch key and index encoded in a message ID. It returns false for IDs of other services.
func ParseMessageID(id string) (BatchKey, int, bool) {
	var k BatchKey
	u, err := hex.DecodeString(strings.ReplaceAll(id, "-", ""))
	if err != nil || len(u) != 16 {
		return k, 0, false
	}
	copy(k[0:6], u[0:6])
	k[6] = u[7]
	copy(k[7:10], u[9:12])
	index := int(u[14])<<8 | int(u[15])
	return k, index, index < MaxMessages && k.MessageID(index) == strings.ToLower(id)
}

// MessageSize is the size of AppendMessage in bytes.
const MessageSize = len(BatchKey{}) + 2

// AppendMessage appends the key and the index of a message, in MessageSize bytes.
func (k BatchKey) AppendMessage(packed []byte, index int) []byte {
	return binary.BigEndian.AppendUint16(append(packed, k[:]...), uint16(index)) //nolint:gosec // an index is below MaxMessages
}

// UnpackMessage returns the key and the index of AppendMessage. packed has MessageSize bytes or more.
func UnpackMessage(packed []byte) (k BatchKey, index int) {
	copy(k[:], packed)
	return k, int(binary.BigEndian.Uint16(packed[len(k):]))
}

// BatchState is the release state of a batch.
type BatchState string

// The states of a batch, in order. Only a BatchPending batch can become BatchCancelled.
const (
	BatchPending   BatchState = "pending"   // accepted, waits for its due time or its release
	BatchReleasing BatchState = "releasing" // its frames are being queued
	BatchSending   BatchState = "sending"   // all frames are queued
	BatchSent      BatchState = "sent"      // every message was sent or has ended; deliveries can still arrive
	BatchCompleted BatchState = "completed" // every message has a final outcome
	BatchCancelled BatchState = "cancelled"
)

// Waits is what a batch waits for. No task sends the messages that wait: sweep queues them.
type Waits struct {
	Paused bool       // for the end of a pause, some messages
	Parts  bool       // for parts of its campaign's file, a completed batch
	Zones  window.Set // for the opening of the send window, the messages of these zones
}

// Any reports whether the batch waits for anything.
func (w Waits) Any() bool { return w != Waits{} }

// Batch is one accepted dispatch call.
type Batch struct {
	BatchRef
	Name            string // as sent by the client, "" if the creating call had none
	Ordinal         int    // in its campaign, from 1; also the ordinal of its packed set
	Key             BatchKey
	TemplateID      string
	TemplateVersion int
	Payload         string // blob key of the accepted messages, in frames
	// FormerPayload is the blob key of the payload that Payload replaced, until that is deleted; "" if there is none.
	FormerPayload string
	ErrorFile     string // name of the file of rejected numbers, "" if there is none
	Offsets       []int  // byte offset of each frame in Payload, then its length
	Accepted      int
	Rejected      int
	AcceptedAt    time.Time
	Due           time.Time // release time
	NotAfter      time.Time // no message is sent after this time; zero for no limit
	Scheduled     bool      // the call gave a schedule, or the batch was rescheduled
	Moves         int       // revision of the campaign's last Move that the row has
	// Unmoved reports whether the row is older than the campaign's last Move. Due is the campaign's due time then.
	Unmoved   bool
	State     BatchState
	NextCheck time.Time // when sweep checks the batch next, zero if nothing is left to do
	Waits     Waits
	// SendWindow has the hours of the call in which the messages may go, nil for any.
	SendWindow *window.Week
	// Zones count the messages by the recipients' time zone, in the order of the messages. It is empty if no send window
	// applied at the acceptance.
	Zones []window.Count
	// NeverOpen are the zones whose send window never opens, or not in time for the NotAfter.
	NeverOpen NeverOpen
	// CancelledAt is zero for a batch that was not cancelled. A batch cancelled while it
	// was sending keeps its state. Messages that the provider does not have end as stopped.
	CancelledAt time.Time
	Revoke      bool // the cancellation also revokes messages at the provider
	FailingTime FailingTime
	// AgentID is the agent that sends the batch. The release sets it, and it never changes.
	// It is "" before the release.
	AgentID string
	// TapKey authenticates the taps on the suggestions of the batch's messages, see
	// Postback, and their links, see LinkToken. It is set on acceptance and never changes. It
	// is nil without suggestions.
	TapKey []byte
	// CountsClicks reports whether a suggestion of the batch's template counts its clicks. It
	// is set on acceptance and never changes. It is false without a TapKey.
	CountsClicks bool
	// Test reports whether the campaign is a test message. The acceptance of its first batch
	// sets it. It never changes, and all batches of the campaign have the same value.
	Test bool
	// Part identifies the part of a campaign that the batch is, "" for other batches. A repeated
	// call with the same part is recognized by it.
	Part string
	// InOtherBatches is the number of people of the part who have no message in it, because an earlier batch of the campaign
	// holds their number. It is set on acceptance and never changes.
	InOtherBatches int

	ClosedAt time.Time // when the batch was completed, zero if it was not
	Classes  Classes
	Prices   Prices // as accepted, zero if there were none
	// Reserved is the amount that the batch has reserved from the tenant's budget on the day
	// ReservedOn. Both are empty without a reservation, and after the batch was completed.
	Reserved   Money
	ReservedOn string
}

// SendAt returns when the batch goes out or went out.
func (b Batch) SendAt() time.Time {
	if b.Due.IsZero() {
		return b.AcceptedAt
	}
	return b.Due
}

// wentAt returns when the batch went out or, if it never did, when it was cancelled.
func (b Batch) wentAt() time.Time {
	if b.State == BatchCancelled && b.CancelledAt.Before(b.SendAt()) {
		return b.CancelledAt
	}
	return b.SendAt()
}

// Day returns the day on which the messages of the batch count.
func (b Batch) Day() string { return localtime.Day(b.wentAt()) }

// Released reports whether the provider may have messages of the batch.
func (b Batch) Released() bool {
	switch b.State {
	case BatchReleasing, BatchSending, BatchSent, BatchCompleted:
		return true
	case BatchPending, BatchCancelled:
	}
	return false
}

// Closed reports whether no message of the batch can be delivered any more.
func (b Batch) Closed() bool { return b.State == BatchCompleted || b.State == BatchCancelled }

// Cancelled reports whether the batch was cancelled. No more of its messages may be sent.
func (b Batch) Cancelled() bool { return !b.CancelledAt.IsZero() }

// Frames returns the number of frames.
func (b Batch) Frames() int { return (b.Accepted + FrameSize - 1) / FrameSize }

// FrameLen returns the number of messages in the frame.
func (b Batch) FrameLen(frame int) int {
	return min(FrameSize, b.Accepted-frame*FrameSize)
}

// ZoneSet returns the zones of the messages, none if the batch has no Zones.
func (b Batch) ZoneSet() window.Set { return window.SetOf(b.Zones) }

// ZoneOf returns the zone of the message at index, and false if the batch has no Zones.
func (b Batch) ZoneOf(index int) (window.Zone, bool) {
	for _, c := range b.Zones {
		if index -= c.Messages; index < 0 {
			return c.Zone, true
		}
	}
	return 0, false
}

// CountClosed counts the messages without an outcome in the zones that wait. outcome returns that of the message at an
// index. A batch without Zones has one count, without a zone.
func (b Batch) CountClosed(outcome func(index int) Outcome) []window.Count {
	if b.Waits.Zones == 0 {
		return nil
	}
	closed := map[window.Zone]int{}
	for index := range b.Accepted {
		zone, known := b.ZoneOf(index)
		if outcome(index) == "" && (b.Waits.Zones.Has(zone) || !known) {
			closed[zone]++
		}
	}
	return window.Counts(closed)
}

// MaxNeverOpen is how long messages wait after it was seen that their send window never opens. Then they end.
const MaxNeverOpen = 72 * time.Hour

// NeverOpen are zones of a batch whose send window never opens. The zero NeverOpen has none.
type NeverOpen struct {
	Zones window.Set
	Since time.Time // when this was seen of the last of them
}

// Seen returns the zones whose window never opens, as seen at now. Further zones begin the wait again: nothing ends
// earlier than MaxNeverOpen after it was seen.
func (n NeverOpen) Seen(zones window.Set, now time.Time) NeverOpen {
	switch {
	case zones == 0:
		return NeverOpen{}
	case zones&^n.Zones != 0:
		return NeverOpen{zones, now}
	}
	return NeverOpen{zones, n.Since}
}

// Ends returns when messages to the zones end. It is for zones that are not empty.
func (n NeverOpen) Ends() time.Time { return n.Since.Add(MaxNeverOpen) }

// Over reports whether messages to a zone have waited for MaxNeverOpen.
func (n NeverOpen) Over(z window.Zone, now time.Time) bool {
	return n.Zones.Has(z) && !now.Before(n.Ends())
}

// NeverOpens reports whether it was seen that the send window of messages to a zone never opens. The zone is that of a
// count of CountClosed: those of a batch without Zones, which have none, may wait for any of those in Waits.
func (b Batch) NeverOpens(z window.Zone) bool {
	if !z.Known() {
		return b.NeverOpen.Zones != 0 && b.Waits.Zones&^b.NeverOpen.Zones == 0
	}
	return b.NeverOpen.Zones.Has(z)
}

// EndsUnopened returns when messages end whose send window never opens, zero if that is not known yet. A batch that is not
// released is seen to have such messages when it is due.
func (b Batch) EndsUnopened() time.Time {
	seen := b.NeverOpen.Since
	if b.State == BatchPending {
		seen = b.Due
	}
	if seen.IsZero() {
		return b.NotAfter
	}
	ends := seen.Add(MaxNeverOpen)
	if !b.NotAfter.IsZero() && b.NotAfter.Before(ends) {
		return b.NotAfter
	}
	return ends
}

// MessageTTL is how long the provider tries to deliver a message, unless its batch ends earlier.
const MessageTTL = 24 * time.Hour

// AnswerGrace is how long the service waits for a delivery status after a message's TTL.
// After that, the message ends as expired.
const AnswerGrace = 2 * time.Hour

// MinTTL is the shortest time for which the provider tries to deliver a message; it refuses a shorter one. Source: RBM
// documentation, "Message expiration" (ttl of at least 10 seconds).
const MinTTL = 10 * time.Second

// LastSend returns the last instant at which a message can be sent that ends at notAfter. Both are zero for no limit.
func LastSend(notAfter time.Time) time.Time {
	if notAfter.IsZero() {
		return notAfter
	}
	return notAfter.Add(-MinTTL)
}

// LastSend returns the last instant at which the batch's messages can be sent, zero for no limit.
func (b Batch) LastSend() time.Time { return LastSend(b.NotAfter) }

// PastLastSend reports whether the batch's LastSend has passed.
func (b Batch) PastLastSend(now time.Time) bool {
	return !b.NotAfter.IsZero() && now.After(b.LastSend())
}

// CheckBy returns next, or the first instant at which the batch is too late if that is earlier.
func (b Batch) CheckBy(next time.Time) time.Time {
	if end := b.LastSend().Add(time.Millisecond); !b.NotAfter.IsZero() && end.Before(next) {
		return end
	}
	return next
}

// MaxFailingTime is how long the sends of a batch without a NotAfter may keep failing. After
// that, its remaining messages end as failed.
const MaxFailingTime = 72 * time.Hour

// FailingTime is how long every send of a batch has failed. The zero FailingTime means no failure since the last success.
type FailingTime struct {
	For time.Duration
	At  time.Time // time of the last counted failure
}

// After returns f after a failed send at now. It adds the time since the previous failure,
// at most gap: during a longer gap nothing was sent.
func (f FailingTime) After(now time.Time, gap time.Duration) FailingTime {
	if f.At.IsZero() {
		return FailingTime{At: now}
	}
	return FailingTime{For: f.For + min(max(now.Sub(f.At), 0), gap), At: now}
}

// TooLong reports whether the batch must not be sent any more.
func (f FailingTime) TooLong() bool { return f.For >= MaxFailingTime }
