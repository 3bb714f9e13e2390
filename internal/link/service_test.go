package link_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/link"
)

var (
	noon      = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	errBroken = errors.New("broken")
)

// world contains one batch with messages, and the queued clicks.
type world struct {
	batch    campaign.Batch
	template campaign.Template
	payload  []byte
	now      time.Time
	queued   []reaction.EventTask
	queueErr error
	readErr  error
}

// newWorld returns a batch whose messages have the values of two variables each. The
// template's suggestions are a reply, a link that counts clicks, and one that does not.
func newWorld(t *testing.T, url string, values ...[]string) *world {
	t.Helper()
	w := &world{now: noon}
	w.template = campaign.Template{Content: content.Content{Text: "Olá {{nome}} {{url}}", Suggestions: []content.Suggestion{
		{Kind: content.Reply, Text: "Sim"},
		{Kind: content.OpenURL, Text: "Ver", URL: url, CountClicks: true},
		{Kind: content.OpenURL, Text: "Loja", URL: "https://loja.example/"},
	}}}
	w.write(t, values...)
	w.batch.Key, w.batch.TapKey, w.batch.AgentID = campaign.BatchKey{1, 2}, []byte("sixteen bytes..."), "agent"
	w.batch.AcceptedAt = noon
	return w
}

// write writes the messages. Those without values are erased.
func (w *world) write(t *testing.T, values ...[]string) {
	t.Helper()
	var p payload.Writer
	for i, v := range values {
		m := campaign.Message{Phone: 5511987650001, UID: "u", Values: v}
		if v == nil {
			m = campaign.Message{}
		}
		p.AddMessage(m)
		w.batch.Accepted = i + 1
	}
	w.payload, w.batch.Offsets = p.Finish()
}

func (w *world) FindBatch(_ context.Context, key campaign.BatchKey) (campaign.Batch, error) {
	if key != w.batch.Key {
		return campaign.Batch{}, campaign.ErrNotFound
	}
	return w.batch, w.readErr
}

func (w *world) Batch(context.Context, campaign.BatchRef) (campaign.Batch, error) {
	return w.batch, w.readErr
}

func (w *world) TemplateVersion(context.Context, string, int) (campaign.Template, error) {
	return w.template, nil
}

func (w *world) GetRange(_ context.Context, _ string, from, to int) ([]byte, error) {
	if w.payload == nil {
		return nil, campaign.ErrNotFound
	}
	return w.payload[from:to], nil
}

func (w *world) Send(_ context.Context, group string, body []byte, _ time.Duration) error {
	var task reaction.EventTask
	if group != "" || json.Unmarshal(body, &task) != nil {
		return errBroken
	}
	w.queued = append(w.queued, task)
	return w.queueErr
}

type answer struct {
	status   int
	location string
	body     string
	header   http.Header
}

func (w *world) open(t *testing.T, method, token string) answer {
	t.Helper()
	return w.openWith(t, method, token, http.Header{"User-Agent": {browser}})
}

func (w *world) openWith(t *testing.T, method, token string, header http.Header) answer {
	t.Helper()
	mux := http.NewServeMux()
	links := &link.Service{Store: w, Blobs: w, Events: w, Now: func() time.Time { return w.now }}
	mux.Handle("GET /l/{token}", httpapi.HandlerFunc(links.ServeLink))
	r := httptest.NewRequestWithContext(t.Context(), method, "/l/"+token, nil)
	r.Header = header
	recorded := httptest.NewRecorder()
	mux.ServeHTTP(recorded, r)
	return answer{recorded.Code, recorded.Header().Get("Location"), recorded.Body.String(), recorded.Header()}
}

const browser = "Mozilla/5.0 (Linux; Android 16) Chrome/150.0 Mobile Safari/537.36"

func TestServeLink_RedirectsToWhatWasSent(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		url    string
		values []string
		want   string
	}{
		"fixed":                    {"https://loja.example/oferta#topo", []string{"Ana", "x"}, "https://loja.example/oferta#topo"},
		"query":                    {"https://loja.example/?n={{nome}}", []string{"Ana & cia", "x"}, "https://loja.example/?n=Ana+%26+cia"},
		"another host in the path": {"https://loja.example/{{nome}}", []string{"//evil.example", "x"}, "https://loja.example/%2F%2Fevil.example"},
		"another host in a query":  {"https://loja.example/?to={{nome}}", []string{"https://evil.example", "x"}, "https://loja.example/?to=https%3A%2F%2Fevil.example"},
		"line break":               {"https://loja.example/{{nome}}", []string{"a\r\nSet-Cookie: b=c", "x"}, "https://loja.example/a%0ASet-Cookie:%20b=c"},
		"whole URL":                {"{{url}}", []string{"Ana", "https://outra.example/a?b=c"}, "https://outra.example/a?b=c"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, test.url, []string{"Bia", "https://other.example"}, test.values)

			got := w.open(t, http.MethodGet, reaction.LinkToken(w.batch, 1, 2))

			if got.status != http.StatusFound || got.location != test.want || got.header.Get("Cache-Control") != "no-store" {
				t.Errorf("answered %d, %q, Cache-Control %q; want a redirect to %q that is not stored", got.status, got.location, got.header.Get("Cache-Control"), test.want)
			}
			want := []reaction.EventTask{{Kind: reaction.EventClick, AgentID: "agent", MessageID: w.batch.Key.MessageID(1), Suggestion: 2, At: noon}}
			if diff := cmp.Diff(want, w.queued); diff != "" {
				t.Errorf("queued (-want +got):\n%s", diff)
			}
		})
	}
}

// A message with an invalid URL is never sent, so its link leads nowhere.
func TestServeLink_InvalidTarget(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"scheme-relative": "//evil.example", "script": "javascript:alert(1)", "http": "http://evil.example", "user": "https://loja.example@evil.example",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "{{url}}", []string{"Ana", value})
			if got := w.open(t, http.MethodGet, reaction.LinkToken(w.batch, 0, 2)); got.status != http.StatusNotFound || got.location != "" || len(w.queued) > 0 {
				t.Errorf("answered %d, %q with %d clicks", got.status, got.location, len(w.queued))
			}
		})
	}
}

func TestServeLink_Refused(t *testing.T) {
	t.Parallel()
	valid := func(w *world) string { return reaction.LinkToken(w.batch, 0, 2) }
	for name, test := range map[string]struct {
		change func(w *world)
		token  func(w *world) string
		status int
	}{
		"other text":  {nil, func(*world) string { return "oferta" }, http.StatusNotFound},
		"other proof": {nil, func(w *world) string { return flip(reaction.LinkToken(w.batch, 0, 2), 30) }, http.StatusNotFound},
		"other message": {nil, func(w *world) string {
			return reaction.LinkToken(w.batch, 0, 2)[:14] + reaction.LinkToken(w.batch, 1, 2)[14:17] + reaction.LinkToken(w.batch, 0, 2)[17:]
		}, http.StatusNotFound},
		"beyond the batch":    {nil, func(w *world) string { return reaction.LinkToken(w.batch, 7, 2) }, http.StatusNotFound},
		"a reply":             {nil, func(w *world) string { return reaction.LinkToken(w.batch, 0, 1) }, http.StatusNotFound},
		"a link not counted":  {nil, func(w *world) string { return reaction.LinkToken(w.batch, 0, 3) }, http.StatusNotFound},
		"no such suggestion":  {nil, func(w *world) string { return reaction.LinkToken(w.batch, 0, 60) }, http.StatusNotFound},
		"postback data":       {nil, func(w *world) string { return reaction.Postback(w.batch, 0, 2, "+5511987650001") }, http.StatusNotFound},
		"another stack":       {func(w *world) { w.batch.Key = campaign.BatchKey{9} }, linkOf(campaign.BatchKey{1, 2}), http.StatusNotFound},
		"key of another":      {func(w *world) { w.batch.TapKey = []byte("another batch's.") }, linkOf(campaign.BatchKey{1, 2}), http.StatusNotFound},
		"no key":              {func(w *world) { w.batch.TapKey = nil }, valid, http.StatusNotFound},
		"erased":              {nil, func(w *world) string { return reaction.LinkToken(w.batch, 2, 2) }, http.StatusGone},
		"no payload":          {func(w *world) { w.payload = nil }, valid, http.StatusGone},
		"expired":             {func(w *world) { w.now = noon.Add(campaign.Retention) }, valid, http.StatusGone},
		"expired row":         {func(w *world) { w.readErr = campaign.ErrExpired }, valid, http.StatusGone},
		"unreadable":          {func(w *world) { w.readErr = errBroken }, valid, http.StatusInternalServerError},
		"the batch, in full":  {nil, valid, http.StatusFound},
		"one character more":  {nil, func(w *world) string { return reaction.LinkToken(w.batch, 0, 2) + "A" }, http.StatusNotFound},
		"a line break within": {nil, func(w *world) string { return reaction.LinkToken(w.batch, 0, 2) + "%0A" }, http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "https://loja.example/{{nome}}", []string{"Ana", "x"}, []string{"Bia", "x"}, nil)
			if test.change != nil {
				test.change(w)
			}
			got := w.open(t, http.MethodGet, test.token(w))
			if got.status != test.status || got.header.Get("Cache-Control") != "no-store" {
				t.Errorf("answered %d, Cache-Control %q, want %d", got.status, got.header.Get("Cache-Control"), test.status)
			}
			if counted := len(w.queued) == 1; counted != (test.status == http.StatusFound) {
				t.Errorf("%d clicks", len(w.queued))
			}
			if page := strings.Contains(got.body, "link"); page != (test.status == http.StatusNotFound || test.status == http.StatusGone) {
				t.Errorf("page %q", got.body)
			}
		})
	}
}

// linkOf returns a link of the batch with the key, as newWorld makes it.
func linkOf(key campaign.BatchKey) func(*world) string {
	return func(*world) string {
		return reaction.LinkToken(campaign.Batch{Key: key, TapKey: []byte("sixteen bytes...")}, 0, 2)
	}
}

// flip changes a character of a token.
func flip(token string, at int) string {
	other := "A"
	if token[at] == 'A' {
		other = "Q"
	}
	return token[:at] + other + token[at+1:]
}

func TestServeLink_QueueFails(t *testing.T) { //nolint:paralleltest // it sets the default logger
	var logged bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&logged, nil)))
	defer slog.SetDefault(before)
	w := newWorld(t, "https://loja.example/a", []string{"Ana", "x"})
	w.queueErr = errBroken

	got := w.open(t, http.MethodGet, reaction.LinkToken(w.batch, 0, 2))

	if got.status != http.StatusFound || !strings.Contains(logged.String(), "click not counted") {
		t.Errorf("answered %d and logged %q, want a redirect and an error", got.status, logged.String())
	}
}
