// Package campaign is the vocabulary of the service: campaigns, batches,
// templates, messages, the tasks that queues carry and the outcomes of sending.
// It imports the standard library only.
package campaign

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// FrameSize is the number of messages of one frame: the unit that is
// compressed, queued and sent together.
const FrameSize = 100

// MaxMessages is the number of messages that one dispatch call may carry.
const MaxMessages = 2000

// ID names a campaign. The same CampaignID of two tenants is two campaigns.
type ID struct {
	Tenant     string `json:"tenant"`
	CampaignID string `json:"campaignId"` // a UUID in lower case
}

// BatchRef points to a batch. It carries no text a client wrote except the
// campaign's UUID, so it may stand in queues and logs.
type BatchRef struct {
	ID
	BatchID string `json:"batchId"` // see BatchID
}

// BatchID derives a batch's identifier from the name its client gave it. The
// creating call may give none: "" is a batch of its own. Names are compared
// byte for byte, and may be long; the identifier is 43 URL-safe characters.
func BatchID(name string) string { return Digest(name) }

// BatchIDs returns what a batch that a client names may be known by, in their
// order: it names it as it did at first, or by the batchId that it was told.
func BatchIDs(name string) []string { return []string{BatchID(name), name} }

// Digest returns what a text of any length is known by in keys: the SHA-256 of
// its bytes, in 43 URL-safe characters.
func Digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// BatchKey is the random 80-bit name of a batch from which the provider's
// message ids are made.
type BatchKey [10]byte

// String returns the key as 20 hexadecimal digits.
func (k BatchKey) String() string { return hex.EncodeToString(k[:]) }

// ParseBatchKey reads what String wrote.
func ParseBatchKey(s string) (BatchKey, error) {
	var k BatchKey
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(k) {
		return k, fmt.Errorf("batch key %q is not 20 hexadecimal digits", s)
	}
	copy(k[:], b)
	return k, nil
}

// MessageID returns the provider's id of the batch's message at index: a UUID
// in the shape of RFC 9562 version 4 whose bits are the key's and the index's,
// so that the same message has the same id however often it is sent.
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

// ParseMessageID returns the batch key and index that MessageID was made of,
// and false for an id that this service did not make.
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

// BatchState is where a batch is on its way to the provider.
type BatchState string

// The states of a batch. It moves forward only; cancellation is possible from
// BatchPending alone.
const (
	BatchPending   BatchState = "pending"   // accepted, waits for its due time or its release
	BatchReleasing BatchState = "releasing" // its frames are being put on the send queue
	BatchSending   BatchState = "sending"   // every frame was put on the send queue
	BatchSent      BatchState = "sent"      // every message was given to the provider or has ended; some may still be delivered
	BatchCompleted BatchState = "completed" // nothing more has to come of any message
	BatchCancelled BatchState = "cancelled"
)

// Batch is one accepted dispatch call.
type Batch struct {
	BatchRef
	Name            string // as the client sent it, "" where the creating call had none
	Ordinal         int    // in its campaign, from 1: that of its packed set
	Key             BatchKey
	TemplateID      string
	TemplateVersion int
	Payload         string // blob key of the accepted messages, in frames
	// FormerPayload is the blob key of the payload that Payload has replaced, until
	// it is deleted; "" for none.
	FormerPayload string
	ErrorFile     string // name of the file of its rejected numbers, "" for none
	Offsets       []int  // byte offset of each frame in Payload, and at the end its length
	Accepted      int
	Rejected      int
	AcceptedAt    time.Time
	Due           time.Time // when it is to be released
	NotAfter      time.Time // zero, or the instant after which nothing more is sent
	Scheduled     bool      // the call gave a schedule
	State         BatchState
	NextCheck     time.Time // when sweep looks at it, zero once nothing is left to do
	// CancelledAt is when the batch was cancelled, zero for one that was not. A
	// batch that was being sent by then keeps its state: what the provider does
	// not have yet ends as stopped.
	CancelledAt time.Time
	TakeBack    bool // its cancellation takes back what the provider has, too
	Failing     Failing
	// AgentID names the agent that the batch is sent by. Its release sets it, and it
	// never changes. It is "" before, for a tenant without an agent, and in rows that
	// were released before the field existed, see NeedsAgent.
	AgentID string
	// Ledger says that the batch's outcomes are kept in the Outcomes table. It is set
	// when the batch is accepted and never changes.
	Ledger bool
	// ClosedAt is when the batch was completed, zero for one that is not or that was
	// completed before the field existed.
	ClosedAt time.Time
}

// NeedsAgent reports whether the batch was released and its agent is not recorded.
func (b Batch) NeedsAgent() bool { return b.AgentID == "" && b.Released() }

// Released reports whether the provider may know messages of the batch.
func (b Batch) Released() bool {
	switch b.State {
	case BatchReleasing, BatchSending, BatchSent, BatchCompleted:
		return true
	case BatchPending, BatchCancelled:
	}
	return false
}

// Cancelled reports whether nothing more of the batch may be given to the
// provider.
func (b Batch) Cancelled() bool { return !b.CancelledAt.IsZero() }

// Frames returns the number of the batch's frames.
func (b Batch) Frames() int { return (b.Accepted + FrameSize - 1) / FrameSize }

// FrameLen returns how many messages the frame holds.
func (b Batch) FrameLen(frame int) int {
	return min(FrameSize, b.Accepted-frame*FrameSize)
}
