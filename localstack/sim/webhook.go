package sim

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

type hook struct {
	url, token string
	client     *http.Client
	slots      chan struct{} // limits concurrent requests
	pending    atomic.Int64  // events without a 200 response yet
	posts      atomic.Int64
	refusals   atomic.Int64 // posts without a 200 response
}

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

// hook returns the webhook of an agent, nil for none.
func (s *Sim) hook(agentID string) *hook {
	h, _ := s.hooks.Load(agentID)
	found, _ := h.(*hook)
	return found
}

// post sends an event once and reports whether the response is 200.
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

// setWebhook registers an agent's webhook: {"agentId", "url", "clientToken"}. First it
// posts a secret to the url, which must return the secret.
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
		return invalid("The webhook does not respond.")
	}
	if status != http.StatusOK || strings.TrimSpace(answer) != secret {
		return invalid("The webhook returned status %d without the secret.", status)
	}
	s.hooks.Store(form.AgentID, h)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// Webhook is an agent's webhook, as GET /_sim/webhook shows it.
type Webhook struct {
	AgentID  string `json:"agentId"`
	URL      string `json:"url"`
	Pending  int64  `json:"pending"`  // events without a 200 response yet
	Posts    int64  `json:"posts"`    // requests, including refused ones
	Refusals int64  `json:"refusals"` // requests without a 200 response
}

func (s *Sim) listWebhooks(w http.ResponseWriter, _ *http.Request) error {
	list := []Webhook{}
	for id, value := range s.hooks.Range {
		h := value.(*hook)
		list = append(list, Webhook{
			AgentID: id.(string), URL: h.url, Pending: h.pending.Load(), Posts: h.posts.Load(), Refusals: h.refusals.Load(),
		})
	}
	slices.SortFunc(list, func(a, b Webhook) int { return strings.Compare(a.AgentID, b.AgentID) })
	writeJSON(w, http.StatusOK, list)
	return nil
}
