// Package sink receives the webhooks of the local stack. It accepts a POST to any
// path, verifies its Standard Webhooks signature, and lists it in the control API
// under /_sink/.
package sink

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"campaign-dispatch/internal/base/retry"
)

// Event is a received webhook, as GET /_sink/events shows it.
type Event struct {
	Headers    map[string]string `json:"headers"` // names in lower case
	Body       string            `json:"body"`    // unchanged
	ReceivedAt time.Time         `json:"receivedAt"`
	Verified   bool              `json:"verified"` // signature and timestamp are valid
	Status     int               `json:"status"`   // status of the response
}

// Behaviour configures the responses. The zero value returns 204 immediately.
type Behaviour struct {
	FailNext  int `json:"failNext"`  // number of next webhooks that fail
	Status    int `json:"status"`    // status of the failures; 0 means 500
	LatencyMs int `json:"latencyMs"` // time before every response
}

// Sink is the receiver, an http.Handler. It stores its state in memory.
type Sink struct {
	signer    *standardwebhooks.Webhook
	now       func() time.Time
	routes    *http.ServeMux
	mu        sync.Mutex
	behaviour Behaviour
	events    []Event
}

// New returns a sink that verifies signatures with the signing secret: whsec_ and a
// key in base64. It returns an error if the secret is invalid.
func New(secret string, now func() time.Time) (*Sink, error) {
	encoded, ok := strings.CutPrefix(secret, "whsec_")
	signer, err := standardwebhooks.NewWebhook(encoded)
	if !ok || err != nil || encoded == "" {
		return nil, errors.New("invalid signing secret: want whsec_ and a key in base64")
	}
	s := &Sink{signer: signer, now: now, routes: http.NewServeMux()}
	s.routes.HandleFunc("GET /_sink/events", s.listEvents)
	s.routes.HandleFunc("DELETE /_sink/events", s.clearEvents)
	s.routes.HandleFunc("PUT /_sink/behaviour", s.setBehaviour)
	s.routes.HandleFunc("POST /_sink/", http.NotFound)
	s.routes.HandleFunc("POST /", s.receive)
	return s, nil
}

// ServeHTTP receives webhooks and serves the control API.
func (s *Sink) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.routes.ServeHTTP(w, r) }

const bodyLimit = 1 << 20

func (s *Sink) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	if err != nil {
		http.Error(w, "the body is too large or incomplete", http.StatusBadRequest)
		return
	}
	now := s.now()
	e := Event{
		Headers:    lowerCase(r.Header),
		Body:       string(body),
		ReceivedAt: now.UTC(),
		Verified:   s.verified(r.Header, body, now),
	}
	status, latency := s.record(e)
	_ = retry.Sleep(r.Context(), latency) // ends early if the client disconnects
	w.WriteHeader(status)
}

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

func (s *Sink) listEvents(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	events := append([]Event{}, s.events...)
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(events) // fails only if the client has disconnected
}

func (s *Sink) clearEvents(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = nil
	w.WriteHeader(http.StatusNoContent)
}

// setBehaviour replaces the whole behaviour. Omitted members return to 0.
func (s *Sink) setBehaviour(w http.ResponseWriter, r *http.Request) {
	var b Behaviour
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, bodyLimit))
	body.DisallowUnknownFields()
	err := body.Decode(&b)
	b.Status = cmp.Or(b.Status, http.StatusInternalServerError)
	if err != nil || min(b.FailNext, b.LatencyMs) < 0 || b.Status < 300 || b.Status > 599 {
		http.Error(w, "failNext and latencyMs are 0 or more, status is from 300 to 599", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.behaviour = b
	w.WriteHeader(http.StatusNoContent)
}

// tolerance is the maximum difference between a webhook's timestamp and the sink's clock.
const tolerance = 5 * time.Minute

// verified reports whether the timestamp is within the tolerance and any signature in
// webhook-signature is valid (Standard Webhooks).
func (s *Sink) verified(header http.Header, body []byte, now time.Time) bool {
	seconds, err := strconv.ParseInt(header.Get(standardwebhooks.HeaderWebhookTimestamp), 10, 64)
	return err == nil && now.Sub(time.Unix(seconds, 0)).Abs() <= tolerance && s.signer.VerifyIgnoringTimestamp(body, header) == nil
}
