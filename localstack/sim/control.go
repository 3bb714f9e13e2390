package sim

import (
	"bufio"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"time"
)

// Behaviour is how the provider treats all messages. The zero value is a
// provider in good health.
type Behaviour struct {
	LatencyMs    int     `json:"latencyMs"`    // between taking a message and answering
	ErrorRate    float64 `json:"errorRate"`    // share of the attempts answered with 503
	ThrottleRate float64 `json:"throttleRate"` // share of the attempts answered with 429
	// EventDelayMs is the time from acceptance to the first event.
	EventDelayMs int `json:"eventDelayMs"`
	// EventJitterMs is a random time, up to this one, by which every event is
	// late, so that events overtake each other.
	EventJitterMs int `json:"eventJitterMs"`
	// DuplicateEvents makes every event come twice.
	DuplicateEvents bool `json:"duplicateEvents"`
	// EventCopies is how many times every event comes, where it is given.
	EventCopies int `json:"eventCopies"`
	// NoEvents leaves all events out.
	NoEvents bool `json:"noEvents"`
}

func (b Behaviour) valid() bool {
	rate := func(r float64) bool { return 0 <= r && r <= 1 }
	return min(b.LatencyMs, b.EventDelayMs, b.EventJitterMs, b.EventCopies) >= 0 && rate(b.ErrorRate) && rate(b.ThrottleRate)
}

// copies returns how many times an event comes.
func (b Behaviour) copies() int {
	if b.DuplicateEvents {
		return max(2, b.EventCopies)
	}
	return max(1, b.EventCopies)
}

const (
	controlLimit = 64 << 20 // bytes of a control request: fates of a million numbers fit
	pageSize     = 1000     // messages listed under one lock
)

// setBehaviour replaces the whole behaviour: what is left out is off.
func (s *Sim) setBehaviour(w http.ResponseWriter, r *http.Request) error {
	var b Behaviour
	if err := readJSON(w, r, controlLimit, &b); err != nil {
		return err
	}
	if !b.valid() {
		return invalid("Rates are 0 to 1, times 0 or more.")
	}
	s.behaviour.Store(&b)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// setFates adds fates to those that are set.
func (s *Sim) setFates(w http.ResponseWriter, r *http.Request) error {
	var names map[string]string
	if err := readJSON(w, r, controlLimit, &names); err != nil {
		return err
	}
	for phone, name := range names {
		if _, ok := fates[name]; !ok || !e164.MatchString(phone) {
			return invalid("A fate is a number in E.164 with + and the name of a fate.")
		}
	}
	s.fatesMu.Lock()
	defer s.fatesMu.Unlock()
	maps.Copy(s.fates, names)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Sim) clearMessages(w http.ResponseWriter, _ *http.Request) error {
	s.messages.clear()
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// listMessages writes the accepted messages page by page, so that a long list
// does not stop the provider.
func (s *Sim) listMessages(w http.ResponseWriter, r *http.Request) error {
	after, phone, err := listFilter(r)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	out := bufio.NewWriter(w)
	defer func() { _ = out.Flush() }()
	entries := json.NewEncoder(out)
	_ = out.WriteByte('[')
	separator := ""
	for page := s.messages.after(after, pageSize); len(page) > 0; page = s.messages.after(after, pageSize) {
		for _, m := range page {
			after = m.AcceptedAt
			if phone != "" && m.Phone != phone {
				continue
			}
			_, _ = out.WriteString(separator)
			if entries.Encode(m) != nil {
				return nil // the reader is gone
			}
			separator = ","
		}
	}
	_ = out.WriteByte(']')
	return nil
}

// listFilter reads the query of a list. A + that was not escaped arrives as a
// blank.
func listFilter(r *http.Request) (after time.Time, phone string, err error) {
	query := r.URL.Query()
	if phone = strings.TrimSpace(query.Get("phone")); phone != "" && phone[0] != '+' {
		phone = "+" + phone
	}
	if text := query.Get("after"); text != "" {
		if after, err = time.Parse(time.RFC3339Nano, strings.ReplaceAll(text, " ", "+")); err != nil {
			return after, phone, invalid("after is an acceptedAt.")
		}
	}
	return after, phone, nil
}
