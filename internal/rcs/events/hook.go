// Package events receives the events of the RCS provider. An event is verified,
// put on the events queue and answered at once: what it means for a message is
// for others to find out.
package events

import (
	"context"
	"crypto/hmac"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"sync"
	"time"

	"campaign-dispatch/internal/cache"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/metrics"
	"campaign-dispatch/internal/phone/e164"
)

// Agents knows the provider's agents. Agent returns an error that wraps
// campaign.ErrNotFound for one that does not exist.
type Agents interface {
	Agent(ctx context.Context, id string) (campaign.Agent, error)
	// Agents returns all agents. Their webhook tokens may be left out.
	Agents(ctx context.Context) ([]campaign.Agent, error)
}

// Blobs keeps what people wrote.
type Blobs interface {
	Put(ctx context.Context, key string, body []byte, contentType string) error
}

// Queue takes tasks.
type Queue interface {
	Send(ctx context.Context, group string, body []byte, delay time.Duration) error
}

// Hook is the webhook of all agents. Its methods may be called from any number of
// goroutines; a Hook must not be copied.
type Hook struct {
	Agents Agents
	Blobs  Blobs
	Queue  Queue // of EventTasks
	Now    func() time.Time

	tokens  cache.Cache[string, string]   // of agents that exist
	absent  cache.Cache[string, struct{}] // agents that do not
	unknown budget
	listed  cache.Cache[struct{}, map[string]bool] // the ids of all agents, in one value
}

// maxBody is the size of a request in bytes. Events are far smaller.
const maxBody = 1 << 20

var agentID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`)

// envelope is a request: a message, or the handshake by which the provider makes
// sure that the address is the agent's.
type envelope struct {
	Message struct {
		Data string `json:"data"`
	} `json:"message"`
	ClientToken string `json:"clientToken"`
	Secret      string `json:"secret"`
}

// ServeEvent answers POST /{agentId}. It answers 200 only once the event is
// queued, or when it is one that nobody waits for; the provider repeats whatever
// is answered otherwise for days.
func (h *Hook) ServeEvent(w http.ResponseWriter, r *http.Request) error {
	body, err := httpapi.Body(r, maxBody)
	if err != nil {
		return err
	}
	var e envelope
	if json.Unmarshal(body, &e) != nil {
		return malformed("The body is not a JSON object.")
	}
	id := r.PathValue("agentId")
	if !agentID.MatchString(id) {
		return refused()
	}
	if e.Message.Data == "" {
		return h.shakeHands(w, r, id, e)
	}
	data, err := base64.StdEncoding.DecodeString(e.Message.Data)
	if err != nil {
		return malformed("message.data is not base64.")
	}
	signature, err := base64.StdEncoding.DecodeString(r.Header.Get("X-Goog-Signature"))
	if err != nil {
		return refused()
	}
	if err := h.prove(r.Context(), id, func(token string) bool { return signed(token, data, signature) }); err != nil {
		return err
	}
	if err := h.take(r.Context(), id, data); err != nil {
		return err
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

// shakeHands answers the secret to a provider that knows the agent's token.
func (h *Hook) shakeHands(w http.ResponseWriter, r *http.Request, agent string, e envelope) error {
	if e.ClientToken == "" || e.Secret == "" {
		return malformed("The body holds neither message.data nor clientToken and secret.")
	}
	err := h.prove(r.Context(), agent, func(token string) bool {
		return subtle.ConstantTimeCompare([]byte(token), []byte(e.ClientToken)) == 1
	})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write([]byte(e.Secret))
	return nil
}

func signed(token string, data, signature []byte) bool {
	mac := hmac.New(sha512.New, []byte(token))
	_, _ = mac.Write(data)
	return hmac.Equal(mac.Sum(nil), signature)
}

// oldest is the age up to which an event is taken when it arrives. The provider repeats
// an event for 7 days.
const oldest = campaign.EventsRepeated

// take puts an event on the queue. What nobody waits for is left out, and so is what
// the provider signed and nobody can apply: it would come again and again.
func (h *Hook) take(ctx context.Context, agent string, data []byte) error {
	now := h.Now()
	e, ok := readEvent(data)
	if !ok {
		drop(ctx, agent, "not an event")
		return nil
	}
	task, content, ok := e.task(agent, now)
	switch {
	case !ok:
		return nil
	case now.Sub(task.At) > oldest:
		drop(ctx, agent, "too old")
		return nil
	case task.Blob != "" && !e164.WellFormed(content.Phone):
		drop(ctx, agent, "the phone cannot be a number")
		return nil
	}
	if task.Blob != "" {
		body, err := json.Marshal(content)
		if err != nil {
			return fmt.Errorf("write the content of an event: %w", err)
		}
		if err := h.Blobs.Put(ctx, task.Blob, body, "application/json"); err != nil {
			return fmt.Errorf("keep the content of an event: %w", err)
		}
	}
	message, err := json.Marshal(task)
	if err != nil {
		return fmt.Errorf("write an event: %w", err)
	}
	if err := h.Queue.Send(ctx, agent, message, 0); err != nil {
		return fmt.Errorf("queue an event: %w", err)
	}
	return nil
}

func drop(ctx context.Context, agent, reason string) {
	metrics.Add(ctx, metrics.EventsDropped, 1)
	slog.WarnContext(ctx, "event dropped", "agent_id", agent, "reason", reason)
}

const (
	// keepToken is how long a token is kept, so that events do not cost a read each.
	keepToken = time.Minute
	// recheck is how often one that does not verify a request is read again at most.
	recheck = time.Second
	// maxTokens is the number of agents whose tokens are kept.
	maxTokens = 10_000
	// keepAbsent is how long an agent that does not exist is not looked for again: so
	// long the handshake of one that is registered meanwhile may fail.
	keepAbsent = 5 * time.Second
	// maxAbsent is the number of those that are kept.
	maxAbsent = 1000
	// unknownReads is how many agents a process reads in a second at most of which it
	// has never found a token. Beyond that it reads only agents of the list, so calls
	// with made-up ids cost no more reads than that.
	unknownReads = 10
	// keepList is how long the list of all agents is kept, and is not read again where
	// that failed.
	keepList = time.Minute
)

// prove returns nil if the check holds for the agent's token. A token that was
// kept and does not hold is read anew: it may have been changed.
func (h *Hook) prove(ctx context.Context, agent string, check func(token string) bool) error {
	now := h.Now()
	if token, ok := h.tokens.Peek(agent, now, keepToken); ok && token != "" && check(token) {
		return nil
	}
	if !h.mayRead(ctx, agent, now) {
		return refused()
	}
	a, err := h.Agents.Agent(ctx, agent)
	if errors.Is(err, campaign.ErrNotFound) {
		h.absent.Put(agent, struct{}{}, now, maxAbsent)
		return refused()
	}
	if err != nil {
		return fmt.Errorf("find the agent of an event: %w", err)
	}
	h.tokens.Put(agent, a.WebhookToken, now, maxTokens)
	if a.WebhookToken == "" || !check(a.WebhookToken) {
		slog.WarnContext(ctx, "a request to the webhook has not the agent's token", "agent_id", agent)
		return refused()
	}
	return nil
}

// mayRead reports whether the agent may be read now.
func (h *Hook) mayRead(ctx context.Context, agent string, now time.Time) bool {
	if _, known := h.tokens.Peek(agent, now, cache.Forever); known {
		_, justRead := h.tokens.Peek(agent, now, recheck)
		return !justRead
	}
	if _, absent := h.absent.Peek(agent, now, keepAbsent); absent {
		return false
	}
	return h.unknown.allow(now) || h.isListed(ctx, agent, now)
}

// isListed reports whether the agent is in the list of all agents.
func (h *Hook) isListed(ctx context.Context, agent string, now time.Time) bool {
	ids, _ := h.listed.Get(struct{}{}, now, cache.Options{TTL: keepList, MaxEntries: 1}, func() (map[string]bool, error) {
		agents, err := h.Agents.Agents(ctx)
		if err != nil {
			slog.WarnContext(ctx, "the list of agents could not be read, new agents may be refused for a while", "error", err)
		}
		ids := make(map[string]bool, len(agents))
		for _, a := range agents {
			ids[a.ID] = true
		}
		return ids, nil
	})
	return ids[agent]
}

// budget permits unknownReads reads in each second.
type budget struct {
	mu    sync.Mutex
	since time.Time
	used  int
}

func (b *budget) allow(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Sub(b.since) >= time.Second {
		b.since, b.used = now, 0
	}
	b.used++
	return b.used <= unknownReads
}

// refused says no more than that: whoever asks learns nothing of agents.
func refused() error {
	return &httpapi.Problem{
		Status: http.StatusForbidden,
		Code:   "wrong_signature",
		Detail: "The request is not signed with the agent's token.",
	}
}

func malformed(detail string) error {
	return &httpapi.Problem{Status: http.StatusBadRequest, Code: "malformed_event", Detail: detail}
}
