package sim

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// Behaviour configures how the provider handles all messages. The zero value accepts every message immediately.
type Behaviour struct {
	LatencyMs    int     `json:"latencyMs"`    // from acceptance to the response
	ErrorRate    float64 `json:"errorRate"`    // share of attempts that return 503
	ThrottleRate float64 `json:"throttleRate"` // share of attempts that return 429
	// EventDelayMs is the time from acceptance to the first event.
	EventDelayMs int `json:"eventDelayMs"`
	// EventJitterMs is the maximum random delay of an event. Events may arrive out of order.
	EventJitterMs int `json:"eventJitterMs"`
	// EventCopies is how many times every event is sent. 0 means once.
	EventCopies int `json:"eventCopies"`
	// NoEvents disables events.
	NoEvents bool `json:"noEvents"`
}

func (b Behaviour) valid() bool {
	rate := func(r float64) bool { return 0 <= r && r <= 1 }
	return min(b.LatencyMs, b.EventDelayMs, b.EventJitterMs, b.EventCopies) >= 0 && rate(b.ErrorRate) && rate(b.ThrottleRate)
}

const (
	controlLimit = 64 << 20 // bytes of a control request; fits the fates of a million numbers
	pageSize     = 1000     // messages listed under one lock
)

// setBehaviour replaces the whole behaviour. Omitted members return to 0.
func (s *Sim) setBehaviour(w http.ResponseWriter, r *http.Request) error {
	var b Behaviour
	if err := readJSON(w, r, controlLimit, &b); err != nil {
		return err
	}
	if !b.valid() {
		return invalid("A rate is from 0 to 1. A time is 0 or more.")
	}
	s.behaviour.Store(&b)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// setFates adds or replaces fates by phone number. Other numbers keep theirs.
func (s *Sim) setFates(w http.ResponseWriter, r *http.Request) error {
	var names map[string]string
	if err := readJSON(w, r, controlLimit, &names); err != nil {
		return err
	}
	for phone, name := range names {
		if _, ok := fates[name]; !ok || !e164.MatchString(phone) {
			return invalid("Each member maps an E.164 number with + to the name of a fate.")
		}
	}
	for phone, name := range names {
		s.fates.Store(phone, fates[name])
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Sim) clearMessages(w http.ResponseWriter, _ *http.Request) error {
	s.messages.clear()
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// listMessages reads the accepted messages in pages, because a long list must not hold the
// lock while messages are sent.
func (s *Sim) listMessages(w http.ResponseWriter, r *http.Request) error {
	after, phone, err := listFilter(r)
	if err != nil {
		return err
	}
	list := []Message{}
	for page := s.messages.after(after, pageSize); len(page) > 0; page = s.messages.after(after, pageSize) {
		after = page[len(page)-1].AcceptedAt
		list = append(list, slices.DeleteFunc(page, func(m Message) bool { return phone != "" && m.Phone != phone })...)
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}

// listFilter returns the query parameters of a list. An unescaped + is decoded as a space.
func listFilter(r *http.Request) (after time.Time, phone string, err error) {
	query := r.URL.Query()
	if phone = strings.TrimSpace(query.Get("phone")); phone != "" && phone[0] != '+' {
		phone = "+" + phone
	}
	if text := query.Get("after"); text != "" {
		if after, err = time.Parse(time.RFC3339Nano, strings.ReplaceAll(text, " ", "+")); err != nil {
			return after, phone, invalid("after is an acceptedAt time.")
		}
	}
	return after, phone, nil
}
