package sim

import (
	"slices"
	"sync"
	"time"
)

// Message is an accepted message, as GET /_sim/messages shows it.
type Message struct {
	MessageID string `json:"messageId"`
	Phone     string `json:"phone"`
	Text      string `json:"text"` // of a card: title, line feed, description
	// Attempts counts the well-formed sends of this id, the failed and the
	// repeated ones too.
	Attempts int `json:"attempts"`
	// AcceptedAt is never the same for two messages.
	AcceptedAt time.Time `json:"acceptedAt"`
}

// messageKey names a message: its id is its agent's own.
type messageKey struct{ agentID, messageID string }

// record is a message with what became of it.
type record struct {
	Message

	delivered bool // the device has it: too late to revoke it
	revoked   bool
}

// messages holds what was sent, and what of it was accepted, in order.
type messages struct {
	mu       sync.Mutex
	sent     map[messageKey]*record
	accepted []*record
}

func (ms *messages) clear() {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	ms.sent = map[messageKey]*record{}
	ms.accepted = nil
}

// attempt counts a send of the message and settles it: judge gets the attempt's
// number, from 1, and says whether it fails. A message that was accepted before
// keeps its first content; of one that is accepted now the record is returned.
func (ms *messages) attempt(key messageKey, m Message, now time.Time, judge func(attempt int) error) (*record, error) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	known, ok := ms.sent[key]
	if !ok {
		known = &record{Message: m}
		ms.sent[key] = known
	}
	known.Attempts++
	if err := judge(known.Attempts); err != nil {
		return nil, err
	}
	if !known.AcceptedAt.IsZero() {
		return nil, nil //nolint:nilnil // nothing is new, and nothing is wrong
	}
	known.AcceptedAt = ms.nextInstant(now)
	ms.accepted = append(ms.accepted, known)
	return known, nil
}

// nextInstant returns now, or the instant after the last acceptance where that
// is later: the instants rise, so that each marks a place in the list.
func (ms *messages) nextInstant(now time.Time) time.Time {
	if n := len(ms.accepted); n > 0 {
		if next := ms.accepted[n-1].AcceptedAt.Add(1); next.After(now) {
			return next
		}
	}
	return now.UTC()
}

// deliver settles that the device has the message, and reports whether it has.
func (ms *messages) deliver(m *record) bool {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m.delivered = !m.revoked
	return m.delivered
}

// revoke takes a message back unless it was delivered, and returns it if it was
// taken back now. known reports whether it was ever accepted.
func (ms *messages) revoke(key messageKey) (m *record, known bool) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m, ok := ms.sent[key]
	if !ok || m.AcceptedAt.IsZero() {
		return nil, false
	}
	if m.delivered || m.revoked {
		return nil, true
	}
	m.revoked = true
	return m, true
}

// after returns the messages that were accepted after the instant, at most
// limit of them.
func (ms *messages) after(t time.Time, limit int) []Message {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	from, found := slices.BinarySearchFunc(ms.accepted, t, func(m *record, t time.Time) int {
		return m.AcceptedAt.Compare(t)
	})
	if found {
		from++
	}
	page := make([]Message, 0, min(limit, len(ms.accepted)-from))
	for _, m := range ms.accepted[from:][:cap(page)] {
		page = append(page, m.Message)
	}
	return page
}
