// Package rbmhook receives the events of the RCS provider. An event is verified,
// put on the events queue and answered at once: what it means for a message is
// for others to find out.
package rbmhook

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
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/gateway"
	"campaign-dispatch/internal/metrics"
	"campaign-dispatch/internal/warm"
)

// Agents knows the provider's agents. Agent returns an error that wraps
// campaign.ErrNotFound for one that does not exist.
type Agents interface {
	Agent(ctx context.Context, id string) (campaign.Agent, error)
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

	tokens warm.Cache[string, string] // of agents that exist
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
	body, err := gateway.Body(r, maxBody)
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

// take puts an event on the queue. What nobody waits for is left out, and so is
// what the provider signed and nobody can read: it would come again and again.
func (h *Hook) take(ctx context.Context, agent string, data []byte) error {
	e, ok := readEvent(data)
	if !ok {
		metrics.Add(ctx, metrics.EventsDropped, 1)
		slog.WarnContext(ctx, "an event of the provider could not be read", "agent_id", agent)
		return nil
	}
	task, content, ok := e.task(agent, h.Now())
	if !ok {
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

const (
	// keepToken is how long a token is kept, so that events do not cost a read each.
	keepToken = time.Minute
	// recheck is how often one that does not verify a request is read again at most.
	recheck = time.Second
	// maxTokens is the number of agents whose tokens are kept.
	maxTokens = 10_000
)

// prove returns nil if the check holds for the agent's token. A token that was
// kept and does not hold is read anew: it may have been changed.
func (h *Hook) prove(ctx context.Context, agent string, check func(token string) bool) error {
	now := h.Now()
	if token, ok := h.tokens.Peek(agent, now, keepToken); ok && token != "" && check(token) {
		return nil
	}
	if _, justRead := h.tokens.Peek(agent, now, recheck); justRead {
		return refused()
	}
	a, err := h.Agents.Agent(ctx, agent)
	if err != nil && !errors.Is(err, campaign.ErrNotFound) {
		return fmt.Errorf("find the agent of an event: %w", err)
	}
	if err != nil {
		return refused()
	}
	h.tokens.Put(agent, a.WebhookToken, now, maxTokens)
	if a.WebhookToken == "" || !check(a.WebhookToken) {
		slog.WarnContext(ctx, "a request to the webhook has not the agent's token", "agent_id", agent)
		return refused()
	}
	return nil
}

// refused says no more than that: whoever asks learns nothing of agents.
func refused() error {
	return &gateway.Problem{
		Status: http.StatusForbidden,
		Code:   "wrong_signature",
		Detail: "The request is not signed with the agent's token.",
	}
}

func malformed(detail string) error {
	return &gateway.Problem{Status: http.StatusBadRequest, Code: "malformed_event", Detail: detail}
}
