// Package sink is a receiver of webhooks for the local stack. It takes what is
// posted to any path, checks its Standard Webhooks signature, and shows it by a
// control API under /_sink/.
package sink

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Event is a webhook as it arrived, as GET /_sink/events shows it.
type Event struct {
	Headers    map[string]string `json:"headers"` // names in lower case
	Body       string            `json:"body"`    // as signed, byte for byte
	ReceivedAt time.Time         `json:"receivedAt"`
	Verified   bool              `json:"verified"` // signature and timestamp are good
	Status     int               `json:"status"`   // what the sink answered
}

// Behaviour is how the sink answers. The zero value answers 204 at once.
type Behaviour struct {
	FailNext  int `json:"failNext"`  // so many webhooks are still refused
	Status    int `json:"status"`    // with this status, 500 where it is 0
	LatencyMs int `json:"latencyMs"` // time before every answer
}

// Sink is the receiver, an http.Handler. It keeps everything in memory.
type Sink struct {
	secret    []byte
	now       func() time.Time
	routes    *http.ServeMux
	mu        sync.Mutex
	behaviour Behaviour
	events    []Event
}

// New returns a sink that verifies with the signing secret (whsec_ and base64),
// and an error where the secret is none.
func New(secret string, now func() time.Time) (*Sink, error) {
	key, err := parseSecret(secret)
	if err != nil {
		return nil, err
	}
	s := &Sink{secret: key, now: now, routes: http.NewServeMux()}
	s.routes.HandleFunc("GET /_sink/events", s.listEvents)
	s.routes.HandleFunc("DELETE /_sink/events", s.clearEvents)
	s.routes.HandleFunc("PUT /_sink/behaviour", s.setBehaviour)
	s.routes.HandleFunc("POST /_sink/", http.NotFound)
	s.routes.HandleFunc("POST /", s.receive)
	return s, nil
}

// ServeHTTP takes webhooks and answers the control API.
func (s *Sink) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.routes.ServeHTTP(w, r) }

const bodyLimit = 1 << 20

func (s *Sink) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	if err != nil {
		http.Error(w, "the body is too large or was cut", http.StatusBadRequest)
		return
	}
	now := s.now()
	e := Event{
		Headers:    lowerCase(r.Header),
		Body:       string(body),
		ReceivedAt: now.UTC(),
		Verified:   verified(s.secret, r.Header, body, now),
	}
	status, latency := s.record(e)
	wait(r, latency)
	w.WriteHeader(status)
}

// record keeps the event and returns how it is to be answered.
func (s *Sink) record(e Event) (status int, latency time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.Status = http.StatusNoContent
	if s.behaviour.FailNext > 0 {
		s.behaviour.FailNext--
		e.Status = s.behaviour.Status
	}
	s.events = append(s.events, e)
	return e.Status, time.Duration(s.behaviour.LatencyMs) * time.Millisecond
}

func lowerCase(header http.Header) map[string]string {
	names := make(map[string]string, len(header))
	for name, values := range header {
		names[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	return names
}

// wait returns after the time, or when the client is gone.
func wait(r *http.Request, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
}

func (s *Sink) listEvents(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	events := append([]Event{}, s.events...)
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(events) // a reader that is gone needs no answer
}

func (s *Sink) clearEvents(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = nil
	w.WriteHeader(http.StatusNoContent)
}

// setBehaviour replaces the whole behaviour: what is left out is off.
func (s *Sink) setBehaviour(w http.ResponseWriter, r *http.Request) {
	b, ok := readBehaviour(w, r)
	if !ok {
		http.Error(w, "failNext and latencyMs are 0 or more, status is 300 to 599", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.behaviour = b
	w.WriteHeader(http.StatusNoContent)
}

func readBehaviour(w http.ResponseWriter, r *http.Request) (Behaviour, bool) {
	var b Behaviour
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, bodyLimit))
	body.DisallowUnknownFields()
	if body.Decode(&b) != nil {
		return b, false
	}
	if b.Status == 0 {
		b.Status = http.StatusInternalServerError
	}
	return b, b.FailNext >= 0 && b.LatencyMs >= 0 && 300 <= b.Status && b.Status <= 599
}
