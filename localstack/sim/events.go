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

// event is an event of a message, a text of a recipient, or an event of the provider.
type event struct {
	SenderPhoneNumber string `json:"senderPhoneNumber,omitempty"`
	PhoneNumber       string `json:"phoneNumber,omitempty"` // in events of the provider only
	EventType         string `json:"eventType,omitempty"`
	EventID           string `json:"eventId,omitempty"`
	MessageID         string `json:"messageId,omitempty"` // of the recipient's text, if Text is set
	Text              string `json:"text,omitempty"`
	// SuggestionResponse is set for a tap. The event has no messageId of the agent then.
	SuggestionResponse *suggestionResponse `json:"suggestionResponse,omitempty"`

	SendTime string `json:"sendTime"`
	AgentID  string `json:"agentId"`
}

type suggestionResponse struct {
	label

	Type string `json:"type"`
}

// reaction is what a recipient does with a message after reading it.
type reaction struct {
	tap  *suggestionResponse // nil if there is nothing to tap
	link string              // that the phone opens, "" for none
}

// reactionOf returns the reaction of a recipient with the fate. It is kept until the message is read, which can be long
// after its content is dropped.
func reactionOf(f fate, c contentMessage) reaction {
	for _, s := range c.suggestions() {
		switch {
		case f.taps, f.tapsReply && s.Reply != nil:
			return reaction{tap: s.tap()}
		case f.clicks && s.link() != "":
			return reaction{s.tap(), s.link()}
		}
	}
	return reaction{}
}

func (s suggestion) tap() *suggestionResponse {
	if s.Reply != nil {
		return &suggestionResponse{s.label(), "REPLY"}
	}
	return &suggestionResponse{s.label(), "ACTION"}
}

// scheduleEvents schedules the events of an accepted message if its agent has a webhook.
func (s *Sim) scheduleEvents(key messageKey, m *record, f fate, ttl time.Duration, then reaction) {
	if s.hook(key.agentID) == nil {
		return
	}
	b := s.behaviour.Load()
	if f.undelivered {
		if ttl > 0 {
			s.options.After(ttl, func() { s.revoke(key) })
		}
		return
	}
	pause := time.Duration(b.EventDelayMs) * time.Millisecond
	s.options.After(pause, func() {
		if !s.messages.deliver(m) {
			return
		}
		s.emit(key.agentID, event{SenderPhoneNumber: m.Phone, EventType: "DELIVERED", MessageID: m.MessageID}, func() {
			if !f.unread {
				s.options.After(pause, func() { s.read(key.agentID, m, f, then) })
			}
		})
	})
}

// read sends the READ event, then the tap, or the texts and events of an opt-out.
func (s *Sim) read(agentID string, m *record, f fate, then reaction) {
	s.emit(agentID, event{SenderPhoneNumber: m.Phone, EventType: "READ", MessageID: m.MessageID}, func() {
		if then.link != "" {
			s.options.After(0, func() { visit(then.link) })
		}
		if then.tap != nil {
			s.emit(agentID, event{SenderPhoneNumber: m.Phone, MessageID: rand.Text(), SuggestionResponse: then.tap}, func() {})
		}
		if f.optsOut {
			s.emit(agentID, event{SenderPhoneNumber: m.Phone, MessageID: rand.Text(), Text: "PARAR"}, func() {})
			s.emit(agentID, event{SenderPhoneNumber: m.Phone, EventType: "UNSUBSCRIBE"}, func() {})
		}
	})
}

// revoke revokes a message that is not delivered yet. It reports whether the message exists.
func (s *Sim) revoke(key messageKey) bool {
	m, known := s.messages.revoke(key)
	if m != nil {
		s.emit(key.agentID, event{PhoneNumber: m.Phone, EventType: "TTL_EXPIRATION_REVOKED", MessageID: m.MessageID}, func() {})
	}
	return known
}

// emit sends the configured number of copies of an event. It calls then after the
// first attempt of the first copy. With jitter it calls then immediately, so that
// later events can overtake this one.
func (s *Sim) emit(agentID string, e event, then func()) {
	h := s.hook(agentID)
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
	for range max(1, b.EventCopies) {
		h.pending.Add(1)
		answered := then
		then = func() {}
		late := time.Duration(float64(jitter) * s.options.Random())
		s.options.After(late, func() { s.deliver(h, request, 0, answered) })
	}
}

// The delay between attempts of an event grows from firstDelay to longestDelay. The
// event is abandoned after maxRetries retries, about seven days.
const (
	firstDelay   = time.Second
	longestDelay = 600 * time.Second
	maxRetries   = 1000
)

// deliver posts an event until the response is 200 or the retries end.
func (s *Sim) deliver(h *hook, request signedEvent, try int, answered func()) {
	ok := h.post(request)
	answered()
	if ok || try == maxRetries {
		h.pending.Add(-1)
		return
	}
	delay := min(firstDelay<<min(try, 10), longestDelay)
	s.options.After(delay, func() { s.deliver(h, request, try+1, func() {}) })
}

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

// sendEvent sends the given event: {"agentId", "phone", "messageId", and "text", "eventType" or "suggestionResponse"}.
func (s *Sim) sendEvent(w http.ResponseWriter, r *http.Request) error {
	var made struct {
		AgentID   string `json:"agentId"`
		Phone     string `json:"phone"`
		Text      string `json:"text"`
		EventType string `json:"eventType"`
		MessageID string `json:"messageId"`

		SuggestionResponse *suggestionResponse `json:"suggestionResponse"`
	}
	if err := readJSON(w, r, controlLimit, &made); err != nil {
		return err
	}
	if s.hook(made.AgentID) == nil || !e164.MatchString(made.Phone) ||
		!oneOf(made.Text != "", made.EventType != "", made.SuggestionResponse != nil) {
		return invalid("An event has the agentId of a webhook, a phone in E.164, and either a text, an eventType or a suggestionResponse.")
	}
	e := event{
		SenderPhoneNumber: made.Phone, Text: made.Text, EventType: made.EventType, MessageID: made.MessageID,
		SuggestionResponse: made.SuggestionResponse,
	}
	switch {
	case made.EventType == "":
		e.MessageID = rand.Text()
	case strings.HasPrefix(made.EventType, "TTL_"):
		e.SenderPhoneNumber, e.PhoneNumber = "", made.Phone
	}
	s.emit(made.AgentID, e, func() {})
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// oneOf reports whether exactly one of the conditions is true.
func oneOf(conditions ...bool) bool {
	n := 0
	for _, c := range conditions {
		if c {
			n++
		}
	}
	return n == 1
}
