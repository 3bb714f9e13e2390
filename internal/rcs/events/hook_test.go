package events_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/rcs/events"
)

const (
	agent   = "loja_agent"
	token   = "a-token-of-the-agent"
	message = "6f0c9f0e-1b2c-4d3e-8f40-000000000001"
	phone   = "+5511987654321"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// hookFixture holds the dependencies of a hook: agents, a bucket and a queue.
type hookFixture struct {
	agents  map[string]string // tokens by id
	removed time.Time         // when the agents were removed
	reads   int
	lists   int
	blobs   map[string]string
	queued  []reaction.EventTask
	groups  []string
	broken  error // of the bucket and the queue
	listErr error
	now     time.Time
	hook    *events.Hook
}

func newHookFixture() *hookFixture {
	w := &hookFixture{agents: map[string]string{agent: token, "no_token": ""}, blobs: map[string]string{}, now: now}
	w.hook = &events.Hook{Agents: w, Blobs: w, Events: w, Now: func() time.Time { return w.now }}
	return w
}

func (w *hookFixture) Agent(_ context.Context, id string) (campaign.Agent, error) {
	w.reads++
	token, ok := w.agents[id]
	if !ok {
		return campaign.Agent{}, fmt.Errorf("read agent: %w", campaign.ErrNotFound)
	}
	return campaign.Agent{ID: id, WebhookToken: token, RemovedAt: w.removed}, nil
}

func (w *hookFixture) Agents(context.Context) (agents []campaign.Agent, err error) {
	w.lists++
	if w.listErr != nil {
		return nil, w.listErr
	}
	for id := range w.agents {
		agents = append(agents, campaign.Agent{ID: id})
	}
	return agents, nil
}

func (w *hookFixture) Put(_ context.Context, key string, body []byte, _ string) error {
	if w.broken == nil {
		w.blobs[key] = string(body)
	}
	return w.broken
}

func (w *hookFixture) Send(_ context.Context, group string, body []byte, _ time.Duration) error {
	var task reaction.EventTask
	if err := json.Unmarshal(body, &task); err != nil {
		return err
	}
	if w.broken == nil {
		w.queued, w.groups = append(w.queued, task), append(w.groups, group)
	}
	return w.broken
}

// post sends a request through the function's routes.
func (w *hookFixture) post(t *testing.T, path, body, signature string) *httptest.ResponseRecorder {
	t.Helper()
	return w.postIn(t.Context(), path, body, signature)
}

func (w *hookFixture) postIn(ctx context.Context, path, body, signature string) *httptest.ResponseRecorder {
	mux := http.NewServeMux()
	mux.Handle("POST /{agentId}", httpapi.HandlerFunc(w.hook.ServeEvent))
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(body))
	if signature != "" {
		r.Header.Set("X-Goog-Signature", signature)
	}
	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, r)
	return answer
}

// event sends an event signed with the agent's token.
func (w *hookFixture) event(t *testing.T, data string) *httptest.ResponseRecorder {
	t.Helper()
	return w.post(t, "/"+agent, envelope(data), sign(token, data))
}

func envelope(data string) string {
	return `{"message":{"data":"` + base64.StdEncoding.EncodeToString([]byte(data)) + `","messageId":"1"},"subscription":"s"}`
}

func sign(token, data string) string {
	mac := hmac.New(sha512.New, []byte(token))
	_, _ = mac.Write([]byte(data))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func TestServeEvent_Handshake(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, path, body string
		want             int
	}{
		{"the agent's token", "/" + agent, `{"clientToken":"` + token + `","secret":"s3cr3t<>"}`, 200},
		{"another token", "/" + agent, `{"clientToken":"x","secret":"s3cr3t<>"}`, 403},
		{"another agent", "/other", `{"clientToken":"` + token + `","secret":"s3cr3t<>"}`, 403},
		{"an agent without a token", "/no_token", `{"clientToken":"","secret":"s3cr3t<>"}`, 400},
		{"no agent's name", "/%20", `{"clientToken":"` + token + `","secret":"s3cr3t<>"}`, 403},
		{"no secret", "/" + agent, `{"clientToken":"` + token + `"}`, 400},
		{"no JSON", "/" + agent, `secret`, 400},
		{"too large", "/" + agent, strings.Repeat(" ", 1<<20) + `{}`, 413},
	}
	for _, test := range tests {
		answer := newHookFixture().post(t, test.path, test.body, "")
		if answer.Code != test.want {
			t.Errorf("%s: status %d, want %d", test.name, answer.Code, test.want)
		}
		echoed := answer.Body.String() == "s3cr3t<>" && strings.HasPrefix(answer.Header().Get("Content-Type"), "text/plain")
		if echoed != (test.want == 200) || strings.Contains(answer.Body.String(), "s3cr3t") != echoed {
			t.Errorf("%s: answered %q as %s", test.name, answer.Body, answer.Header().Get("Content-Type"))
		}
	}
}

func TestServeEvent_Signature(t *testing.T) {
	t.Parallel()
	const data = `{"senderPhoneNumber":"` + phone + `","eventType":"READ","eventId":"e","messageId":"` + message + `"}`
	tests := []struct {
		name, path, body, signature string
		want                        int
	}{
		{"signed", "/" + agent, envelope(data), sign(token, data), 200},
		{"not signed", "/" + agent, envelope(data), "", 403},
		{"signed with another token", "/" + agent, envelope(data), sign("x", data), 403},
		{"signed with no token", "/no_token", envelope(data), sign("", data), 403},
		{"another event's signature", "/" + agent, envelope(data), sign(token, data+" "), 403},
		{"another agent", "/other", envelope(data), sign(token, data), 403},
		{"signature that is no base64", "/" + agent, envelope(data), "#", 403},
		{"data that is no base64", "/" + agent, `{"message":{"data":"#"}}`, sign(token, data), 400},
	}
	for _, test := range tests {
		w := newHookFixture()
		answer := w.post(t, test.path, test.body, test.signature)
		if taken := len(w.queued) == 1; answer.Code != test.want || taken != (test.want == 200) {
			t.Errorf("%s: status %d, %d queued, want %d", test.name, answer.Code, len(w.queued), test.want)
		}
	}
}

func TestServeEvent_Kinds(t *testing.T) {
	t.Parallel()
	const sent = "2026-03-01T11:59:58.123456Z"
	at := time.Date(2026, 3, 1, 11, 59, 58, 123e6, time.UTC)
	user := func(members string) string {
		return `{"senderPhoneNumber":"` + phone + `","sendTime":"` + sent + `","agentId":"` + agent + `",` + members + `}`
	}
	task := func(kind reaction.EventKind, id string) reaction.EventTask {
		return reaction.EventTask{Kind: kind, EventID: id, AgentID: agent, MessageID: message, At: at}
	}
	without := func(kind reaction.EventKind, id string) reaction.EventTask {
		return reaction.EventTask{Kind: kind, EventID: id, AgentID: agent, At: at, ArrivedAt: now}
	}
	const itsMessage = `"messageId":"` + message + `"`
	tests := []struct {
		name, data string
		want       reaction.EventTask // without its blob
		content    string             // of the blob
	}{
		{"delivered", user(`"eventType":"DELIVERED","eventId":"e1",` + itsMessage), task("delivered", "e1"), ""},
		{"read", user(`"eventType":"READ","eventId":"e2",` + itsMessage), task("read", "e2"), ""},
		{
			"revoked by its ttl", `{"phoneNumber":"` + phone + `","eventType":"TTL_EXPIRATION_REVOKED","eventId":"e3",` + itsMessage + `,"sendTime":"` + sent + `"}`,
			task("expired", "e3"), "",
		},
		{
			"not revoked by its ttl", `{"phoneNumber":"` + phone + `","eventType":"TTL_EXPIRATION_REVOKE_FAILED","eventId":"e4",` + itsMessage + `,"sendTime":"` + sent + `"}`,
			task("revoke_failed", "e4"), "",
		},
		{"unsubscribe", user(`"eventType":"UNSUBSCRIBE","eventId":"e5"`), without("opt_out", "e5"), `{"phone":"` + phone + `","pending":true}`},
		{"subscribe", user(`"eventType":"SUBSCRIBE","eventId":"e6"`), without("opt_in", "e6"), `{"phone":"` + phone + `","pending":true}`},
		{"unsubscribe without a +", strings.Replace(user(`"eventType":"UNSUBSCRIBE","eventId":"e5"`), "+", "", 1), without("opt_out", "e5"), `{"phone":"` + phone + `","pending":true}`},
		{"text", user(`"messageId":"m1","text":"Olá, tudo bem?"`), without("reply", "m1"), `{"phone":"` + phone + `","text":"Olá, tudo bem?"}`},
		{"keyword", user(`"messageId":"m4","text":"Parar!"`), without("reply", "m4"), `{"phone":"` + phone + `","text":"Parar!","pending":true}`},
		{
			"tap", user(`"messageId":"m2","suggestionResponse":{"postbackData":"yes","text":"Sim","type":"REPLY"}`),
			without("reply", "m2"), `{"phone":"` + phone + `","text":"Sim","postback":"yes"}`,
		},
		{
			"tap without data", user(`"messageId":"m5","suggestionResponse":{"text":"Sair","type":"REPLY"}`),
			without("reply", "m5"), `{"phone":"` + phone + `","text":"Sair","postback":"Sair"}`,
		},
		{"phrase", user(`"messageId":"m6","text":"Me tira da lista"`), without("reply", "m6"), `{"phone":"` + phone + `","text":"Me tira da lista","pending":true}`},
		{"doubtful", user(`"messageId":"m7","text":"cancelar"`), without("reply", "m7"), `{"phone":"` + phone + `","text":"cancelar"}`},
		{"picture", user(`"messageId":"m3","userFile":{"payload":{}}`), without("reply", "m3"), `{"phone":"` + phone + `"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newHookFixture()
			if answer := w.event(t, test.data); answer.Code != http.StatusOK || answer.Body.Len() > 0 {
				t.Fatalf("status %d, body %q, want an empty 200", answer.Code, answer.Body)
			}
			w.event(t, test.data) // a repeated event has the same task and blob
			if len(w.queued) != 2 {
				t.Fatalf("%d tasks were queued, want one for each request", len(w.queued))
			}
			blob := w.queued[0].Blob
			test.want.Blob = blob
			if diff := cmp.Diff([]reaction.EventTask{test.want, test.want}, w.queued); diff != "" {
				t.Errorf("tasks (-want +got):\n%s", diff)
			}
			if w.groups[0] != "" { // a group costs more, and no tenant's events go first
				t.Errorf("queued in group %q, want none", w.groups[0])
			}
			want := map[string]string{}
			if test.content != "" {
				want[blob] = test.content
			}
			if diff := cmp.Diff(want, w.blobs); diff != "" {
				t.Errorf("blobs (-want +got):\n%s", diff)
			}
			if test.content != "" && !strings.HasPrefix(blob, "events/"+agent+"/") {
				t.Errorf("the blob is at %s, want it under the agent's events", blob)
			}
		})
	}
}

func TestServeEvent_Ignored(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{
		"typing":                      `{"senderPhoneNumber":"` + phone + `","eventType":"IS_TYPING","eventId":"e"}`,
		"unknown":                     `{"senderPhoneNumber":"` + phone + `","eventType":"SMILED","eventId":"e"}`,
		"delivered without a message": `{"senderPhoneNumber":"` + phone + `","eventType":"DELIVERED","eventId":"e"}`,
		"unsubscribe without a phone": `{"eventType":"UNSUBSCRIBE","eventId":"e"}`,
		"nothing":                     `{}`,
		"no object":                   `[]`,
		"no JSON":                     `x`,
	} {
		w := newHookFixture()
		if answer := w.event(t, data); answer.Code != http.StatusOK || len(w.queued)+len(w.blobs) > 0 {
			t.Errorf("%s: status %d, queued %v, want 200 and nothing", name, answer.Code, w.queued)
		}
	}
}

func TestServeEvent_QueueFails(t *testing.T) {
	t.Parallel()
	for _, data := range []string{
		`{"senderPhoneNumber":"` + phone + `","eventType":"READ","eventId":"e","messageId":"` + message + `"}`,
		`{"senderPhoneNumber":"` + phone + `","messageId":"m","text":"Oi"}`,
	} {
		w := newHookFixture()
		w.broken = errors.New("out of order")
		if answer := w.event(t, data); answer.Code != http.StatusInternalServerError {
			t.Errorf("status %d, want 500, so that the provider repeats it", answer.Code)
		}
	}
}

// The events of a minute cost one read, despite requests with invalid signatures. A
// changed token is used from the next event.
func TestServeEvent_TokenCache(t *testing.T) {
	t.Parallel()
	const data = `{"senderPhoneNumber":"` + phone + `","eventType":"READ","eventId":"e","messageId":"` + message + `"}`
	w := newHookFixture()
	post := func(token string, want int) {
		t.Helper()
		if answer := w.post(t, "/"+agent, envelope(data), sign(token, data)); answer.Code != want {
			t.Errorf("status %d, want %d", answer.Code, want)
		}
	}
	for range 3 {
		post(token, 200)
		post("wrong", 403)
	}
	if w.reads != 1 {
		t.Errorf("the agent was read %d times, want once", w.reads)
	}
	w.agents[agent] = "changed"
	w.now = now.Add(5 * time.Second)
	post("changed", 200)
	post(token, 403)
	w.agents[agent] = "changed again"
	w.now = now.Add(2 * time.Minute)
	post("changed", 403)
	post("changed again", 200)
}
