// Package events receives the events of the RCS provider. It verifies an event, queues
// it, and answers at once; the outcomes function applies it.
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
	"sync"
	"time"

	"campaign-dispatch/internal/base/cache"
	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/pattern"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/phone/e164"
)

// Agents reads the provider's agents.
type Agents interface {
	// Agent returns an agent. The error wraps campaign.ErrNotFound if there is none.
	Agent(ctx context.Context, id string) (campaign.Agent, error)
	// Agents returns all agents, possibly without webhook tokens.
	Agents(ctx context.Context) ([]campaign.Agent, error)
}

// Hook is the webhook of all agents. It is safe for concurrent use and must not be copied.
type Hook struct {
	Agents Agents
	Blobs  port.BlobWriter
	Events port.Queue
	Now    func() time.Time

	agents  cache.Cache[string, campaign.Agent]
	absent  cache.Cache[string, struct{}] // unknown agents
	unknown budget
	listed  cache.Cache[struct{}, map[string]bool] // the ids of all agents, in one value
}

// maxBody is the maximum size of a request in bytes. Events are far smaller.
const maxBody = 1 << 20

var agentID = pattern.AtFirstUse(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`)

// envelope is a request body: a message, or the handshake by which the provider verifies the URL.
type envelope struct {
	Message struct {
		Data string `json:"data"`
	} `json:"message"`
	ClientToken string `json:"clientToken"`
	Secret      string `json:"secret"`
}

// ServeEvent serves POST /{agentId}. It answers 200 once the event is queued or
// ignored. The provider repeats any other event for days.
func (h *Hook) ServeEvent(w http.ResponseWriter, r *http.Request) error {
	body, err := httpapi.JSONBody(r, maxBody)
	if err != nil {
		return err
	}
	var e envelope
	if json.Unmarshal(body, &e) != nil {
		return malformed("The body is not a JSON object.")
	}
	id := r.PathValue("agentId")
	if !agentID().MatchString(id) {
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
		signature = nil // is refused
	}
	agent, err := h.prove(r.Context(), id, func(token string) bool { return signed(token, data, signature) })
	if err != nil {
		h.countRefusal(r.Context(), id, signature, err)
		return err
	}
	if err := h.take(r.Context(), agent, data); err != nil {
		return err
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

// shakeHands answers a handshake with its secret if the token is the agent's.
func (h *Hook) shakeHands(w http.ResponseWriter, r *http.Request, agent string, e envelope) error {
	if e.ClientToken == "" || e.Secret == "" {
		return malformed("The body contains neither message.data nor clientToken and secret.")
	}
	_, err := h.prove(r.Context(), agent, func(token string) bool {
		return subtle.ConstantTimeCompare([]byte(token), []byte(e.ClientToken)) == 1
	})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(e.Secret))
	return nil
}

func signed(token string, data, signature []byte) bool {
	mac := hmac.New(sha512.New, []byte(token))
	_, _ = mac.Write(data)
	return hmac.Equal(mac.Sum(nil), signature)
}

// oldest is the maximum age of an accepted event. The provider repeats an event for 7 days.
const oldest = campaign.EventsRepeated

// take queues an event. It drops events that are not needed, and signed events that
// cannot be applied: otherwise the provider would repeat them, and delay those of other agents.
func (h *Hook) take(ctx context.Context, from campaign.Agent, data []byte) error {
	now, agent := h.Now(), from.ID
	if !from.RemovedAt.IsZero() {
		drop(ctx, agent, "removed agent")
		return nil
	}
	var e event
	if json.Unmarshal(data, &e) != nil {
		drop(ctx, agent, "not an event")
		return nil //nolint:nilerr // the provider would repeat it
	}
	task, content, ok := e.task(agent, now)
	switch {
	case !ok:
		return nil
	case now.Sub(task.At) > oldest:
		drop(ctx, agent, "too old")
		return nil
	case task.Blob != "" && !e164.WellFormed(content.Phone):
		drop(ctx, agent, "invalid phone number")
		return nil
	}
	if task.Blob != "" {
		if err := port.PutJSON(ctx, h.Blobs, task.Blob, content); err != nil {
			return fmt.Errorf("store the content of an event: %w", err)
		}
	}
	if err := port.Send(ctx, h.Events, "", task, 0); err != nil {
		return fmt.Errorf("queue an event: %w", err)
	}
	return nil
}

func drop(ctx context.Context, agent, reason string) {
	metrics.Add(ctx, metrics.EventsDropped, 1)
	slog.WarnContext(ctx, "event dropped", "agent_id", agent, "reason", reason)
}

const (
	tokenTTL = time.Minute // how long a token is cached, so that events do not cost a read each
	// recheck is the minimum time between two reads of a token that does not verify a request.
	recheck   = time.Second
	maxTokens = 10_000 // maximum number of agents in the cache
	// absentTTL is how long an unknown agent is cached. The handshake of a newly
	// registered agent may fail for that long.
	absentTTL = 5 * time.Second
	maxAbsent = 1000 // maximum number of unknown agents in the cache
	// unknownReads is the number of reads per second of agents without a cached token.
	// Beyond it, only agents of the list are read, so that calls with random IDs do not
	// cause more reads.
	unknownReads = 10
	listTTL      = time.Minute // how long the list of all agents is cached, also after a failed read
)

// prove returns the agent if check accepts its token. It reads a cached agent again if check refuses
// it, because the token may have changed, and a removed one after a second, because it may be used again.
func (h *Hook) prove(ctx context.Context, id string, check func(token string) bool) (campaign.Agent, error) {
	now := h.Now()
	a, ok := h.agents.Peek(id, now, tokenTTL)
	if ok && !a.RemovedAt.IsZero() {
		_, ok = h.agents.Peek(id, now, recheck)
	}
	if ok && a.WebhookToken != "" && check(a.WebhookToken) {
		return a, nil
	}
	if !h.mayRead(ctx, id, now) {
		return campaign.Agent{}, refused()
	}
	a, err := h.Agents.Agent(ctx, id)
	if errors.Is(err, campaign.ErrNotFound) {
		h.absent.Put(id, struct{}{}, now, maxAbsent)
		return campaign.Agent{}, refused()
	}
	if err != nil {
		return campaign.Agent{}, fmt.Errorf("find the agent of an event: %w", err)
	}
	h.agents.Put(id, a, now, maxTokens)
	if a.WebhookToken == "" || !check(a.WebhookToken) {
		slog.WarnContext(ctx, "webhook request rejected: invalid token", "agent_id", id)
		return campaign.Agent{}, refused()
	}
	return a, nil
}

// countRefusal counts a refused event by its agent. Events of unknown agents count together, because callers
// can invent names, and only if their signature has the provider's form.
func (h *Hook) countRefusal(ctx context.Context, id string, signature []byte, err error) {
	if _, ok := errors.AsType[*httpapi.Problem](err); !ok {
		return
	}
	if _, exists := h.agents.Peek(id, h.Now(), cache.Forever); exists {
		metrics.AddOf(ctx, metrics.EventsRefused, metrics.OfAgent, id, 1)
	} else if len(signature) == sha512.Size {
		metrics.AddOf(ctx, metrics.EventsRefused, metrics.OfAgent, metrics.Unknown, 1)
	}
}

func (h *Hook) mayRead(ctx context.Context, agent string, now time.Time) bool {
	if _, known := h.agents.Peek(agent, now, cache.Forever); known {
		_, justRead := h.agents.Peek(agent, now, recheck)
		return !justRead
	}
	if _, absent := h.absent.Peek(agent, now, absentTTL); absent {
		return false
	}
	return h.unknown.allow(now) || h.isListed(ctx, agent, now)
}

func (h *Hook) isListed(ctx context.Context, agent string, now time.Time) bool {
	ids, _ := h.listed.Get(struct{}{}, now, cache.Options{TTL: listTTL, MaxEntries: 1}, func() (map[string]bool, error) {
		agents, err := h.Agents.Agents(ctx)
		if err != nil {
			slog.WarnContext(ctx, "reading the list of agents failed; new agents may be refused", "error", err)
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

// refused returns the same 403 for every reason, so that callers cannot probe for agents.
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
