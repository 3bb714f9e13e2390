package sim

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// event is what an agent's webhook is told: of a message to a person, by a
// person, or by the provider itself.
type event struct {
	SenderPhoneNumber string `json:"senderPhoneNumber,omitempty"`
	PhoneNumber       string `json:"phoneNumber,omitempty"` // in the provider's own events
	EventType         string `json:"eventType,omitempty"`
	EventID           string `json:"eventId,omitempty"`
	MessageID         string `json:"messageId,omitempty"` // of a text: its own
	Text              string `json:"text,omitempty"`
	SendTime          string `json:"sendTime"`
	AgentID           string `json:"agentId"`
}

// announce sends the events that follow the acceptance of a message, if its
// agent has a webhook.
func (s *Sim) announce(key messageKey, m *record, f fate, ttl time.Duration) {
	if s.hooks.of(key.agentID) == nil {
		return
	}
	b := s.behaviour.Load()
	if f.silent {
		if ttl > 0 {
			s.options.After(ttl, func() { s.takeBack(key) })
		}
		return
	}
	pause := time.Duration(b.EventDelayMs) * time.Millisecond
	s.options.After(pause, func() {
		if !s.messages.deliver(m) {
			return
		}
		s.emit(key.agentID, event{SenderPhoneNumber: m.Phone, EventType: "DELIVERED", MessageID: m.MessageID}, func() {
			s.options.After(pause, func() { s.read(key.agentID, m, f) })
		})
	})
}

// read sends the events of a person who reads a message.
func (s *Sim) read(agentID string, m *record, f fate) {
	s.emit(agentID, event{SenderPhoneNumber: m.Phone, EventType: "READ", MessageID: m.MessageID}, func() {
		if f.optsOut {
			s.emit(agentID, event{SenderPhoneNumber: m.Phone, MessageID: rand.Text(), Text: "PARAR"}, func() {})
			s.emit(agentID, event{SenderPhoneNumber: m.Phone, EventType: "UNSUBSCRIBE"}, func() {})
		}
	})
}

// takeBack revokes a message that was not delivered, and reports whether there is
// such a message at all.
func (s *Sim) takeBack(key messageKey) bool {
	m, known := s.messages.revoke(key)
	if m != nil {
		s.emit(key.agentID, event{PhoneNumber: m.Phone, EventType: "TTL_EXPIRATION_REVOKED", MessageID: m.MessageID}, func() {})
	}
	return known
}

// emit sends an event as often as the behaviour says, and calls then once the
// first copy was answered for the first time. Where events come late at random,
// it is called at once: what follows may overtake.
func (s *Sim) emit(agentID string, e event, then func()) {
	h := s.hooks.of(agentID)
	if h == nil {
		return
	}
	e.AgentID, e.SendTime = agentID, s.options.Now().UTC().Format(time.RFC3339Nano)
	if e.EventType != "" {
		e.EventID = rand.Text()
	}
	b := s.behaviour.Load()
	if b.NoEvents {
		return
	}
	request := h.sign(e, s.options.Now())
	jitter := time.Duration(b.EventJitterMs) * time.Millisecond
	if jitter > 0 {
		defer then()
		then = func() {}
	}
	for range b.copies() {
		h.pending.Add(1)
		answered := then
		then = func() {}
		late := time.Duration(float64(jitter) * s.options.Random())
		s.options.After(late, func() { s.deliver(h, request, 0, answered) })
	}
}

// The gaps between the tries of an event grow to longestGap. It is given up
// after so many tries, some seven days.
const (
	firstGap   = time.Second
	longestGap = 600 * time.Second
	maxTries   = 1000
)

// deliver posts an event until it is answered with 200.
func (s *Sim) deliver(h *hook, request signedEvent, try int, answered func()) {
	ok := h.post(request)
	answered()
	if ok || try == maxTries {
		h.pending.Add(-1)
		return
	}
	gap := min(firstGap<<min(try, 10), longestGap)
	s.options.After(gap, func() { s.deliver(h, request, try+1, func() {}) })
}

// signedEvent is the body of a webhook's request, and its signature.
type signedEvent struct {
	body      string
	signature string
}

func (h *hook) sign(e event, now time.Time) signedEvent {
	data, _ := json.Marshal(e) //nolint:errchkjson // strings only
	mac := hmac.New(sha512.New, []byte(h.token))
	_, _ = mac.Write(data)
	body, _ := json.Marshal(map[string]any{ //nolint:errchkjson // strings only
		"message": map[string]string{
			"data": base64.StdEncoding.EncodeToString(data), "messageId": rand.Text(),
			"publishTime": now.UTC().Format(time.RFC3339Nano),
		},
		"subscription": "projects/simulator/subscriptions/" + e.AgentID,
	})
	return signedEvent{body: string(body), signature: base64.StdEncoding.EncodeToString(mac.Sum(nil))}
}

// sendEvent sends an event that a test makes up: {"agentId", "phone", "text" or
// "eventType", "messageId"}.
func (s *Sim) sendEvent(w http.ResponseWriter, r *http.Request) error {
	var made struct {
		AgentID   string `json:"agentId"`
		Phone     string `json:"phone"`
		Text      string `json:"text"`
		EventType string `json:"eventType"`
		MessageID string `json:"messageId"`
	}
	if err := readJSON(w, r, controlLimit, &made); err != nil {
		return err
	}
	if s.hooks.of(made.AgentID) == nil || !e164.MatchString(made.Phone) || (made.Text == "") == (made.EventType == "") {
		return invalid("An event has the agentId of a webhook, a phone in E.164, and a text or an eventType.")
	}
	e := event{SenderPhoneNumber: made.Phone, Text: made.Text, EventType: made.EventType, MessageID: made.MessageID}
	switch {
	case made.Text != "":
		e.MessageID = rand.Text()
	case strings.HasPrefix(made.EventType, "TTL_"):
		e.SenderPhoneNumber, e.PhoneNumber = "", made.Phone
	}
	s.emit(made.AgentID, e, func() {})
	w.WriteHeader(http.StatusAccepted)
	return nil
}
