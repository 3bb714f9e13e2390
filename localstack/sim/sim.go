// Package sim simulates the RCS provider. It implements the part of Google's RCS
// Business Messaging API that the service uses: service account tokens, agent
// messages of all forms, revocation, the reach of numbers, and the agent's webhook for events.
// The control API under /_sim/ lists the accepted messages, shows the newest as a phone
// does, and configures errors, latency and events.
package sim

import (
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Options configure a simulator. All fields except After are required.
type Options struct {
	// URL is the simulator's address, without a path or a trailing slash.
	URL string
	// Key is the key of every agent's service account.
	Key *rsa.PrivateKey
	// Now is the simulator's clock.
	Now func() time.Time
	// Random returns numbers in [0, 1) for the rates of the behaviour.
	Random func() float64
	// After calls f in its own goroutine after d. The default is time.AfterFunc.
	After func(d time.Duration, f func())
}

// Sim is the simulator, an http.Handler. It stores its state in memory.
type Sim struct {
	options   Options
	routes    *http.ServeMux
	behaviour atomic.Pointer[Behaviour]
	accounts  accounts
	messages  messages
	hooks     sync.Map // *hook by agent
	fates     sync.Map // fate by E.164 number
}

// New returns a simulator without messages, with the zero Behaviour.
func New(options Options) *Sim {
	if options.After == nil {
		options.After = func(d time.Duration, f func()) { time.AfterFunc(d, f) }
	}
	s := &Sim{options: options, accounts: accounts{grants: map[string]grant{}}}
	s.behaviour.Store(&Behaviour{})
	s.messages.clear()
	s.routes = s.newRoutes()
	return s
}

func (s *Sim) newRoutes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token", s.issueToken)
	for pattern, serve := range map[string]endpoint{
		"POST /v1/phones/{phone}/agentMessages":        s.createMessage,
		"DELETE /v1/phones/{phone}/agentMessages/{id}": s.revokeMessage,
		"POST /v1/users:batchGet":                      s.reachableUsers,
		"GET /_sim/phone":                              s.showPhone,
		"POST /_sim/phone":                             s.tapPhone,
		"GET /_sim/messages":                           s.listMessages,
		"DELETE /_sim/messages":                        s.clearMessages,
		"PUT /_sim/behaviour":                          s.setBehaviour,
		"PUT /_sim/fates":                              s.setFates,
		"PUT /_sim/webhook":                            s.setWebhook,
		"GET /_sim/webhook":                            s.listWebhooks,
		"GET /_sim/key-document":                       s.keyDocument,
		"POST /_sim/events":                            s.sendEvent,
		"/":                                            unknownPath,
	} {
		mux.Handle(pattern, serve)
	}
	return mux
}

// ServeHTTP serves the provider's API and the control API.
func (s *Sim) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.routes.ServeHTTP(w, r) }

// endpoint serves a request or returns the apiError to answer with.
type endpoint func(w http.ResponseWriter, r *http.Request) error

// ServeHTTP writes the endpoint's error in the shape of Google's APIs.
func (serve endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := serve(w, r)
	if err == nil {
		return
	}
	answer, ok := errors.AsType[*apiError](err)
	if !ok {
		answer = &apiError{Code: http.StatusInternalServerError, Message: "Internal error encountered."}
	}
	answer.write(w)
}

type apiError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Status  string `json:"status"`
}

// Error returns the message. Messages never contain input of the client.
func (e *apiError) Error() string { return e.Message }

// canonical maps HTTP statuses to the status names of Google's APIs.
var canonical = map[int]string{
	http.StatusBadRequest:          "INVALID_ARGUMENT",
	http.StatusUnauthorized:        "UNAUTHENTICATED",
	http.StatusForbidden:           "PERMISSION_DENIED",
	http.StatusNotFound:            "NOT_FOUND",
	http.StatusConflict:            "ALREADY_EXISTS",
	http.StatusTooManyRequests:     "RESOURCE_EXHAUSTED",
	http.StatusInternalServerError: "INTERNAL",
	http.StatusServiceUnavailable:  "UNAVAILABLE",
}

func (e *apiError) write(w http.ResponseWriter) {
	e.Status = canonical[e.Code]
	switch e.Code {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="https://accounts.google.com/"`)
	case http.StatusTooManyRequests:
		w.Header().Set("Retry-After", "1")
	}
	writeJSON(w, e.Code, map[string]*apiError{"error": e})
}

func invalid(format string, args ...any) *apiError {
	return &apiError{Code: http.StatusBadRequest, Message: fmt.Sprintf(format, args...)}
}

func unknownPath(http.ResponseWriter, *http.Request) error {
	return &apiError{Code: http.StatusNotFound, Message: "Method not found."}
}

// writeJSON writes v as the response. It ignores write errors: the client has disconnected and repeats the request.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// readJSON decodes a body of at most limit bytes into v. It rejects unknown members, as Google does.
func readJSON(w http.ResponseWriter, r *http.Request, limit int64, v any) error {
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, limit))
	body.DisallowUnknownFields()
	err := body.Decode(v)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return invalid("Request payload size exceeds the limit: %d bytes.", limit)
	}
	if err != nil {
		return invalid("Invalid JSON payload received.")
	}
	return nil
}
