// Package sim simulates the RCS provider. It implements the part of Google's RCS
// Business Messaging API that the service uses: service account tokens, agent
// messages of all forms, revocation, capabilities, and the agent's webhook for events.
// The control API under /_sim/ lists the accepted messages, shows the newest as a phone
// does, and configures errors, latency and events.
package sim

import (
	"crypto/rsa"
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
	hooks     hooks
	fatesMu   sync.RWMutex
	fates     map[string]string // E.164 number → name in the table of fates
}

// New returns a simulator without messages, with the zero Behaviour.
func New(options Options) *Sim {
	if options.After == nil {
		options.After = func(d time.Duration, f func()) { time.AfterFunc(d, f) }
	}
	s := &Sim{options: options, fates: map[string]string{}}
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
		"GET /v1/phones/{phone}/capabilities":          s.capabilities,
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
