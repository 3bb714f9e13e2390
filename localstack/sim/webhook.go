package sim

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// hook is an agent's webhook.
type hook struct {
	url, token string
	client     *http.Client
	slots      chan struct{} // one for each request at a time
	pending    atomic.Int64  // events that were not answered with 200 yet
	posts      atomic.Int64
	refusals   atomic.Int64 // posts that were not answered with 200
}

// requestsAtOnce is how many events a webhook gets side by side.
const requestsAtOnce = 32

func newHook(address, token string) *hook {
	return &hook{
		url: address, token: token, slots: make(chan struct{}, requestsAtOnce),
		client: &http.Client{
			Timeout:   15 * time.Second,
			Transport: &http.Transport{MaxIdleConnsPerHost: requestsAtOnce},
		},
	}
}

// hooks are the webhooks by agent.
type hooks struct {
	mu    sync.RWMutex
	hooks map[string]*hook
}

func (hs *hooks) of(agentID string) *hook {
	hs.mu.RLock()
	defer hs.mu.RUnlock()
	return hs.hooks[agentID]
}

func (hs *hooks) set(agentID string, h *hook) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	next := map[string]*hook{}
	maps.Copy(next, hs.hooks)
	next[agentID] = h
	hs.hooks = next
}

// post sends an event once, and reports whether the answer was 200.
func (h *hook) post(e signedEvent) bool {
	h.slots <- struct{}{}
	defer func() { <-h.slots }()
	h.posts.Add(1)
	status, _, err := h.send(context.Background(), e.body, e.signature)
	if err != nil || status != http.StatusOK {
		h.refusals.Add(1)
		return false
	}
	return true
}

func (h *hook) send(ctx context.Context, body, signature string) (status int, answer string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Content-Type", "application/json")
	if signature != "" {
		request.Header.Set("X-Goog-Signature", signature)
	}
	response, err := h.client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	return response.StatusCode, string(text), err
}

// setWebhook registers an agent's webhook, {"agentId", "url", "clientToken"},
// once the address has shown that it knows the token: it has to answer with the
// secret that it is sent.
func (s *Sim) setWebhook(w http.ResponseWriter, r *http.Request) error {
	var form struct {
		AgentID     string `json:"agentId"`
		URL         string `json:"url"`
		ClientToken string `json:"clientToken"`
	}
	if err := readJSON(w, r, controlLimit, &form); err != nil {
		return err
	}
	if _, err := url.ParseRequestURI(form.URL); err != nil || form.AgentID == "" || form.ClientToken == "" {
		return invalid("A webhook has an agentId, a url and a clientToken.")
	}
	h := newHook(form.URL, form.ClientToken)
	secret := rand.Text()
	challenge, _ := json.Marshal(map[string]string{"clientToken": form.ClientToken, "secret": secret}) //nolint:errchkjson // strings only
	status, answer, err := h.send(r.Context(), string(challenge), "")
	if err != nil {
		return invalid("The webhook does not answer.")
	}
	if status != http.StatusOK || strings.TrimSpace(answer) != secret {
		return invalid("The webhook answered %d and not the secret.", status)
	}
	s.hooks.set(form.AgentID, h)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// Webhook is an agent's webhook, as GET /_sim/webhook shows it.
type Webhook struct {
	AgentID  string `json:"agentId"`
	URL      string `json:"url"`
	Pending  int64  `json:"pending"`  // events that were not answered with 200 yet
	Posts    int64  `json:"posts"`    // requests so far
	Refusals int64  `json:"refusals"` // of them, those not answered with 200
}

func (s *Sim) listWebhooks(w http.ResponseWriter, _ *http.Request) error {
	s.hooks.mu.RLock()
	all := s.hooks.hooks // never changed, only replaced
	s.hooks.mu.RUnlock()
	list := []Webhook{}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		h := all[id]
		list = append(list, Webhook{
			AgentID: id, URL: h.url, Pending: h.pending.Load(), Posts: h.posts.Load(), Refusals: h.refusals.Load(),
		})
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}
