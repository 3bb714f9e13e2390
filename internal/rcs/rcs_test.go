package rcs_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/rcs"
	"campaign-dispatch/internal/send/outgoing"
	"campaign-dispatch/localstack/sim"
)

const (
	phone     = "+5511987654321"
	text      = "Olá Ana, seu pedido 42 saiu"
	messageID = "6f0c9f0e-1b2c-4d3e-8f40-000000000001"
)

var agent = campaign.Agent{ID: "loja_agent", KeyParameter: "/agents/loja_agent"}

func delivery() outgoing.Message {
	return outgoing.Message{ID: messageID, Phone: phone, Content: content.Content{Text: text}, TTL: time.Hour}
}

// keysFunc implements rcs.Keys.
type keysFunc func(parameter string) ([]byte, error)

func (f keysFunc) KeyDocument(_ context.Context, parameter string) ([]byte, error) {
	return f(parameter)
}

var accountKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

// provider is a running simulator with a client.
type provider struct {
	url    string
	sim    atomic.Pointer[sim.Sim]
	tokens atomic.Int64 // requests for a token
	client *rcs.Client
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	p := &provider{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			p.tokens.Add(1)
		}
		p.sim.Load().ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	p.url = server.URL
	p.restart()
	p.client = &rcs.Client{
		URL:  server.URL,
		Keys: keysFunc(func(string) ([]byte, error) { return p.sim.Load().KeyDocument(agent.ID) }),
		HTTP: rcs.NewHTTPClient(64),
		Now:  time.Now,
	}
	t.Cleanup(p.client.HTTP.CloseIdleConnections)
	return p
}

// restart clears the provider's state, including the tokens.
func (p *provider) restart() {
	p.sim.Store(sim.New(sim.Options{URL: p.url, Key: accountKey(), Now: time.Now, Random: func() float64 { return 0.5 }}))
}

func (p *provider) control(t *testing.T, method, path, body string) []byte {
	t.Helper()
	w := httptest.NewRecorder()
	p.sim.Load().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body)))
	if w.Code/100 != 2 {
		t.Fatalf("%s %s: status %d: %s", method, path, w.Code, w.Body)
	}
	return w.Body.Bytes()
}

// accepted returns the messages that the provider has accepted.
func (p *provider) accepted(t *testing.T) []sim.Message {
	t.Helper()
	var messages []sim.Message
	if err := json.Unmarshal(p.control(t, "GET", "/_sim/messages", ""), &messages); err != nil {
		t.Fatalf("read the messages: %v", err)
	}
	for i := range messages {
		messages[i].AcceptedAt = time.Time{}
	}
	return messages
}

// failureOf returns the failure of an error, or nil. It fails the test if the error's
// text contains personal data.
func failureOf(t *testing.T, err error) *outgoing.Failure {
	t.Helper()
	if err == nil {
		return nil
	}
	if strings.Contains(err.Error(), phone[1:]) || strings.Contains(err.Error(), text) {
		t.Errorf("the error contains personal data: %v", err)
	}
	var failure *outgoing.Failure
	if !errors.As(err, &failure) {
		t.Fatalf("got %v, want a *outgoing.Failure", err)
	}
	return failure
}

func TestSend_Retries(t *testing.T) {
	t.Parallel()
	permanent := func(code string) *outgoing.Failure {
		return &outgoing.Failure{Kind: outgoing.Permanent, Code: code}
	}
	throttled := &outgoing.Failure{Kind: outgoing.Throttled, Code: "throttled", RetryAfter: time.Second}
	taken := func(attempts int) []sim.Message {
		return []sim.Message{{MessageID: messageID, Phone: phone, Text: text, Attempts: attempts}}
	}
	tests := []struct {
		fate string
		want []*outgoing.Failure // of each attempt
		sent []sim.Message
	}{
		{"delivered", []*outgoing.Failure{nil}, taken(1)},
		{"delivered", []*outgoing.Failure{nil, nil}, taken(2)},
		{"unreachable", []*outgoing.Failure{permanent("unreachable")}, []sim.Message{}},
		{"unsupported", []*outgoing.Failure{permanent("unsupported")}, []sim.Message{}},
		{"forbidden", []*outgoing.Failure{permanent("agent_not_launched")}, []sim.Message{}},
		{"throttled", []*outgoing.Failure{throttled, throttled, nil}, taken(3)},
		{"unavailable", []*outgoing.Failure{{Code: "unavailable"}, nil}, taken(2)},
	}
	for _, test := range tests {
		t.Run(test.fate, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t)
			p.control(t, "PUT", "/_sim/fates", `{"`+phone+`":"`+test.fate+`"}`)
			var got []*outgoing.Failure
			for range test.want {
				got = append(got, failureOf(t, p.client.Send(t.Context(), agent, delivery())))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.sent, p.accepted(t)); diff != "" {
				t.Errorf("accepted messages (-want +got):\n%s", diff)
			}
		})
	}
}

// On a new connection, net/http does not repeat the call. The provider answers the second send with 200 or with 409.
func TestSend_AnswerLost(t *testing.T) {
	t.Parallel()
	for fate, repeated := range map[string]bool{"answer_lost": false, "already_exists": true} {
		t.Run(fate, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t)
			p.client.HTTP.Transport.(*http.Transport).DisableKeepAlives = true
			p.control(t, "PUT", "/_sim/fates", `{"`+phone+`":"`+fate+`"}`)

			got := failureOf(t, p.client.Send(t.Context(), agent, delivery()))
			if diff := cmp.Diff(&outgoing.Failure{Code: "no_answer"}, got); diff != "" {
				t.Errorf("failure (-want +got):\n%s", diff)
			}
			var err error
			counts := counted(t, func(ctx context.Context) { err = p.client.Send(ctx, agent, delivery()) })
			if err != nil {
				t.Errorf("second send: %v", err)
			}
			if got := strings.Contains(counts, `"RepeatedAnswers":1`); got != repeated {
				t.Errorf("counts of the second send %s, want RepeatedAnswers: %v", counts, repeated)
			}
			want := []sim.Message{{MessageID: messageID, Phone: phone, Text: text, Attempts: 2}}
			if diff := cmp.Diff(want, p.accepted(t)); diff != "" {
				t.Errorf("accepted messages (-want +got):\n%s", diff)
			}
		})
	}
}

// counted returns what a call counts.
func counted(t *testing.T, call func(ctx context.Context)) string {
	t.Helper()
	var out strings.Builder
	handler := metrics.NewHandler(func(ctx context.Context, _ []byte) ([]byte, error) { call(ctx); return nil, nil }, &out, time.Now)
	if _, err := handler.Invoke(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// A conflict of two requests at once does not say that the provider has the message, and neither does an answer without a
// code. A revocation creates nothing.
func TestSend_Conflict(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"aborted": `{"error":{"code":409,"message":"The operation was aborted.","status":"ABORTED"}}`,
		"cut off": `{"error":{"code":409,"message":"Requested ent`,
		"no body": "",
		"a proxy": "<html>409 Conflict</html>",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repeatsConflict(t, body)
		})
	}
}

// repeatsConflict checks that a 409 with a body counts as a failure that can be repeated.
func repeatsConflict(t *testing.T, body string) {
	t.Helper()
	p := newProvider(t)
	answers := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusConflict)
		if r.Method == http.MethodPost {
			_, _ = w.Write([]byte(body))
		}
	}))
	defer answers.Close()
	p.client.URL = answers.URL
	want := &outgoing.Failure{Code: "unavailable"}
	if diff := cmp.Diff(want, failureOf(t, p.client.Send(t.Context(), agent, delivery()))); diff != "" {
		t.Errorf("failure of a send (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, failureOf(t, p.client.Revoke(t.Context(), agent, messageID, phone))); diff != "" {
		t.Errorf("failure of a revocation (-want +got):\n%s", diff)
	}
}

func TestSend_SlowProvider(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	if err := p.client.Send(t.Context(), agent, outgoing.Message{
		ID: "6f0c9f0e-1b2c-4d3e-8f40-000000000002", Phone: "+5511987650000", Content: content.Content{Text: "x"},
	}); err != nil {
		t.Fatalf("first send: %v", err)
	}
	p.control(t, "DELETE", "/_sim/messages", "")
	p.control(t, "PUT", "/_sim/behaviour", `{"latencyMs":60000}`)

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := p.client.Send(ctx, agent, delivery())
	if diff := cmp.Diff(&outgoing.Failure{Code: "no_answer"}, failureOf(t, err)); diff != "" {
		t.Errorf("failure (-want +got):\n%s", diff)
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the deadline as its cause", err)
	}
	p.control(t, "PUT", "/_sim/behaviour", `{}`)
	if err := p.client.Send(t.Context(), agent, delivery()); err != nil {
		t.Errorf("second send: %v", err)
	}
	if got := len(p.accepted(t)); got != 1 {
		t.Errorf("the provider has %d messages, want 1", got)
	}
}

func TestSend_NoProvider(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	p.client.URL = closed.URL
	got := failureOf(t, p.client.Send(t.Context(), agent, delivery()))
	if diff := cmp.Diff(&outgoing.Failure{Code: "no_answer"}, got); diff != "" {
		t.Errorf("failure (-want +got):\n%s", diff)
	}
}

func TestSend_Statuses(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		name       string
		status     int
		retryAfter string
		want       *outgoing.Failure
	}{
		{"created", 201, "", nil},
		{"redirect", 302, "", &outgoing.Failure{Code: "unexpected_answer"}},
		{"bad request", 400, "", &outgoing.Failure{Kind: outgoing.Permanent, Code: "unsupported"}},
		{"unauthorized", 401, "", &outgoing.Failure{Code: "unauthenticated"}},
		{"forbidden", 403, "", &outgoing.Failure{Kind: outgoing.Permanent, Code: "agent_not_launched"}},
		{"not found", 404, "", &outgoing.Failure{Kind: outgoing.Permanent, Code: "unreachable"}},
		{"method not allowed", 405, "", &outgoing.Failure{Kind: outgoing.Permanent, Code: "rejected"}},
		{"request timeout", 408, "", &outgoing.Failure{Code: "unavailable"}},
		{"conflict", 409, "", &outgoing.Failure{Code: "unavailable"}},
		{"too large", 413, "", &outgoing.Failure{Kind: outgoing.Permanent, Code: "unsupported"}},
		{"throttled", 429, "", &outgoing.Failure{Kind: outgoing.Throttled, Code: "throttled"}},
		{"throttled for a time", 429, "30", &outgoing.Failure{Kind: outgoing.Throttled, Code: "throttled", RetryAfter: 30 * time.Second}},
		{"throttled until", 429, "Sun, 01 Mar 2026 12:02:00 GMT", &outgoing.Failure{Kind: outgoing.Throttled, Code: "throttled", RetryAfter: 2 * time.Minute}},
		{"throttled until the past", 429, "Sun, 01 Mar 2026 11:00:00 GMT", &outgoing.Failure{Kind: outgoing.Throttled, Code: "throttled"}},
		{"throttled for ever", 429, "4294967295", &outgoing.Failure{Kind: outgoing.Throttled, Code: "throttled", RetryAfter: 24 * time.Hour}},
		{"throttled for nonsense", 429, "-5", &outgoing.Failure{Kind: outgoing.Throttled, Code: "throttled"}},
		{"internal error", 500, "", &outgoing.Failure{Code: "unavailable"}},
		{"bad gateway", 502, "", &outgoing.Failure{Code: "unavailable"}},
		{"unavailable for a time", 503, "7", &outgoing.Failure{Code: "unavailable", RetryAfter: 7 * time.Second}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t)
			answers := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost {
					return // a followed redirect would succeed
				}
				w.Header().Set("Location", "/elsewhere")
				if test.retryAfter != "" {
					w.Header().Set("Retry-After", test.retryAfter)
				}
				w.WriteHeader(test.status)
			}))
			defer answers.Close()
			p.client.URL = answers.URL
			p.client.Now = func() time.Time { return now }
			got := failureOf(t, p.client.Send(t.Context(), agent, delivery()))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("failure (-want +got):\n%s", diff)
			}
		})
	}
}

// The code of every permanent failure, which is recorded, has a description.
func TestSend_PermanentCodes(t *testing.T) {
	t.Parallel()
	p, permanent := newProvider(t), 0
	var answer atomic.Int64
	answers := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(answer.Load())) }))
	defer answers.Close()
	p.client.URL = answers.URL
	for status := 300; status < 600; status++ {
		answer.Store(int64(status))
		failure := failureOf(t, p.client.Send(t.Context(), agent, delivery()))
		if failure == nil || failure.Kind != outgoing.Permanent {
			continue
		}
		permanent++
		if _, known := campaign.DescribeCode(failure.Code); !known {
			t.Errorf("status %d: code %s has no description", status, failure.Code)
		}
	}
	if permanent < 90 {
		t.Errorf("%d statuses are permanent failures, want most of 400 to 499", permanent)
	}
}

func TestSend_Bodies(t *testing.T) {
	t.Parallel()
	card := &content.Card{
		Title: "Oferta", Description: "Só <hoje>", Media: &content.Media{URL: "https://example.com/a.png"}, Suggestions: content.Replies("Quero"),
	}
	tests := []struct {
		name     string
		delivery outgoing.Message
		want     string
	}{
		{
			"text",
			outgoing.Message{Content: content.Content{Text: "Olá"}, TTL: 13500 * time.Millisecond},
			`{"contentMessage":{"text":"Olá"},"messageTrafficType":"PROMOTION","ttl":"13.5s"}`,
		},
		{
			"no ttl of its own",
			outgoing.Message{Content: content.Content{Text: "Olá"}},
			`{"contentMessage":{"text":"Olá"},"messageTrafficType":"PROMOTION","ttl":"86400s"}`,
		},
		{
			"card",
			outgoing.Message{Content: content.Content{Card: card}, TTL: 48 * time.Hour},
			`{"contentMessage":{"richCard":{"standaloneCard":{"cardOrientation":"VERTICAL","cardContent":{
				"title":"Oferta","description":"Só <hoje>",
				"media":{"height":"MEDIUM","contentInfo":{"fileUrl":"https://example.com/a.png"}},
				"suggestions":[{"reply":{"text":"Quero","postbackData":"Quero"}}]}}}},
				"messageTrafficType":"PROMOTION","ttl":"172800s"}`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t)
			var got any
			capture := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
					t.Errorf("decode the body: %v", err)
				}
				w.WriteHeader(http.StatusOK)
			}))
			defer capture.Close()
			p.client.URL = capture.URL
			if err := p.client.Send(t.Context(), agent, test.delivery); err != nil {
				t.Fatalf("send: %v", err)
			}
			var want any
			if err := json.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatalf("the test's own JSON: %v", err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSend_ProviderAccepts(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	card := delivery()
	card.Content = content.Content{Card: &content.Card{
		Title: "Oferta", Description: "Só hoje", Media: &content.Media{URL: "https://example.com/a.png"}, Suggestions: content.Replies("Quero", "Parar"),
	}}
	if err := p.client.Send(t.Context(), agent, card); err != nil {
		t.Fatalf("send a card: %v", err)
	}
	want := []sim.Message{{MessageID: messageID, Phone: phone, Text: "Oferta\nSó hoje", Attempts: 1}}
	if diff := cmp.Diff(want, p.accepted(t)); diff != "" {
		t.Errorf("accepted messages (-want +got):\n%s", diff)
	}
	long := delivery()
	long.Content.Text = strings.Repeat("ã", 3073)
	got := failureOf(t, p.client.Send(t.Context(), agent, long))
	if diff := cmp.Diff(&outgoing.Failure{Kind: outgoing.Permanent, Code: "unsupported"}, got); diff != "" {
		t.Errorf("failure of a long text (-want +got):\n%s", diff)
	}
}

func TestSend_TextLimit(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	longest := func(fill string) content.Content {
		carousel := func(n int) content.Content {
			next := func(start string, most int) string {
				size := min(n, most-len(start))
				n -= size
				return start + strings.Repeat(fill, size)
			}
			s := strings.Repeat(fill, content.MaxSuggestion)
			cards := make([]content.Card, content.MaxCards)
			for i := range cards {
				cards[i] = content.Card{
					Title: strings.Repeat(fill, content.MaxTitle), Description: next("", content.MaxDescription), Suggestions: content.Replies(s, s, s, s),
					Media: &content.Media{URL: next("https://e.example/", content.MaxURL), ThumbnailURL: next("https://e.example/", content.MaxURL)},
				}
			}
			return content.Content{Carousel: &content.Carousel{Cards: cards}}
		}
		return carousel(sort.Search(content.MaxMessage, func(n int) bool { return carousel(n+1).Unsendable() != "" }))
	}
	for i, c := range []content.Content{
		{Text: strings.Repeat("&", content.MaxText)}, longest("a"), longest("ã"), longest("&"), longest("\u2028"),
	} {
		d := delivery()
		d.ID, d.Content = fmt.Sprintf("6f0c9f0e-1b2c-4d3e-8f40-%012d", i), c
		if err := p.client.Send(t.Context(), agent, d); err != nil || c.Unsendable() != "" {
			t.Errorf("message %d: code %q, sent with error %v", i, c.Unsendable(), err)
		}
	}
}
