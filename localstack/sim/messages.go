package sim

import (
	"math"
	"net/http"
	"regexp"
	"slices"
	"sync"
	"time"
)

// Message is an accepted message, as GET /_sim/messages shows it.
type Message struct {
	MessageID string `json:"messageId"`
	Phone     string `json:"phone"`
	Text      string `json:"text"` // of a card: title, line feed, description
	// Attempts counts the well-formed requests with this id, including failed and repeated ones.
	Attempts int `json:"attempts"`
	// AcceptedAt is unique among the messages.
	AcceptedAt time.Time `json:"acceptedAt"`
}

// shownMessages is how many of the newest messages keep their content for the phone page.
const shownMessages = 100

// messageKey identifies a message. A message id is unique within its agent.
type messageKey struct{ agentID, messageID string }

type record struct {
	Message

	agentID   string
	content   contentMessage // zero for all but the newest accepted messages
	delivered bool           // can no longer be revoked
	revoked   bool
}

// messages holds all sent messages by key, and the accepted ones in order.
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

// attempt counts an attempt to send the message. failure receives the attempt's
// number, from 1, and returns the attempt's error. attempt returns the record if this
// attempt is the first accepted one, and nil for a repeated message, which keeps its
// first content.
func (ms *messages) attempt(key messageKey, m record, now time.Time, failure func(attempt int) error) (*record, error) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	known, ok := ms.sent[key]
	if !ok {
		known = &record{Message: m.Message, agentID: key.agentID}
		ms.sent[key] = known
	}
	known.Attempts++
	if err := failure(known.Attempts); err != nil {
		return nil, err
	}
	if !known.AcceptedAt.IsZero() {
		return nil, nil //nolint:nilnil // the message was accepted before
	}
	known.AcceptedAt = ms.nextInstant(now)
	ms.accept(known, m.content)
	return known, nil
}

// accept appends the message, and drops the content of the message that the phone page no longer shows.
func (ms *messages) accept(m *record, content contentMessage) {
	m.content = content
	ms.accepted = append(ms.accepted, m)
	if n := len(ms.accepted); n > shownMessages {
		ms.accepted[n-shownMessages-1].content = contentMessage{}
	}
}

// newest returns the messages that have their content, newest first.
func (ms *messages) newest() (newest []record) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for _, m := range slices.Backward(ms.accepted[max(0, len(ms.accepted)-shownMessages):]) {
		newest = append(newest, *m)
	}
	return newest
}

// nextInstant returns now, or one nanosecond after the last acceptance if that is
// later. AcceptedAt increases strictly, so that it serves as a page token.
func (ms *messages) nextInstant(now time.Time) time.Time {
	if n := len(ms.accepted); n > 0 {
		if next := ms.accepted[n-1].AcceptedAt.Add(1); next.After(now) {
			return next
		}
	}
	return now.UTC()
}

// deliver marks the message as delivered unless it was revoked. It reports whether the message is delivered.
func (ms *messages) deliver(m *record) bool {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m.delivered = !m.revoked
	return m.delivered
}

// revoke marks the message as revoked and returns it. It returns a nil message if the
// message was delivered or revoked before. known reports whether it was accepted.
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

// after returns at most limit messages that were accepted after t.
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

// fate configures the result of the messages to a number.
type fate struct {
	failures    int    // failed attempts of each message
	status      int    // HTTP status of the failed attempts
	message     string // error message of the failed attempts
	answerLost  bool   // the first attempt is accepted and its response lost
	conflicts   bool   // attempts after the accepted one are answered 409
	undelivered bool   // the message is never delivered
	unread      bool   // the message is delivered and never read
	optsOut     bool   // the recipient replies PARAR
	taps        bool   // the recipient taps the first suggestion
	tapsReply   bool   // the recipient taps the first suggested reply
	clicks      bool   // the recipient taps the first link, and the phone opens it
}

// always is the number of failures of an attempt that never succeeds.
const always = math.MaxInt

const delivered = "delivered"

// fates are the fates by their names in PUT /_sim/fates.
var fates = map[string]fate{
	delivered:     {},
	"undelivered": {undelivered: true}, // accepted and revoked when its ttl ends
	"unread":      {unread: true},      // delivered and never read
	"opt_out":     {optsOut: true},     // delivered and read; the recipient replies PARAR
	"tap":         {taps: true},        // delivered and read; the recipient taps the first suggestion
	"tap_reply":   {tapsReply: true},   // the same with the first suggested reply
	"click":       {clicks: true},      // the same with the first link, which the phone opens
	"unreachable": {failures: always, status: http.StatusNotFound, message: "Requested entity was not found."},
	"unsupported": {failures: always, status: http.StatusBadRequest, message: "The device lacks a required feature."},
	"forbidden":   {failures: always, status: http.StatusForbidden, message: "The agent is not launched and the user is not a tester."},
	"throttled":   {failures: 2, status: http.StatusTooManyRequests, message: "Resource has been exhausted."},
	"unavailable": {failures: 1, status: http.StatusServiceUnavailable, message: "The service is currently unavailable."},
	"down":        {failures: always, status: http.StatusServiceUnavailable, message: "The service is currently unavailable."},
	"answer_lost": {answerLost: true},
	// Google documents 200 for a repeated messageId, as answer_lost has it.
	"already_exists": {answerLost: true, conflicts: true},
}

// fixedNumber matches Brazilian numbers of any area code whose last digit selects their fate.
var fixedNumber = regexp.MustCompile(`^\+55\d{2}90000000([1-8])$`)

var fixedFates = map[string]string{
	"1": "unreachable",
	"2": "throttled",
	"3": "undelivered",
	"4": "unavailable",
	"5": "opt_out",
	"6": "tap",
	"7": "tap_reply",
	"8": "click",
}

// fateOf returns the configured fate of a number, then the fixed one, then delivered.
func (s *Sim) fateOf(phone string) fate {
	if f, ok := s.fates.Load(phone); ok {
		return f.(fate)
	}
	if m := fixedNumber.FindStringSubmatch(phone); m != nil {
		return fates[fixedFates[m[1]]]
	}
	return fates[delivered]
}
