package apidocs_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/dashboard/apidocs"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/httpapi/openapi"
	"campaign-dispatch/internal/oauth/accesstoken"
)

const base = "https://campanhas.example.com"

// nobody signs sessions: the documentation is for everybody.
type nobody struct{}

func (nobody) Keys(context.Context) ([]accesstoken.Key, error)      { return nil, nil }
func (nobody) Sign(context.Context, string, []byte) ([]byte, error) { return nil, nil }

func handler(tb testing.TB) http.Handler {
	tb.Helper()
	now := func() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }
	ui := &web.UI{Sessions: &web.Sessions{Signer: nobody{}, Now: now, Secure: true}, Now: now, BaseURL: base}
	if err := ui.Load(apidocs.Area()); err != nil {
		tb.Fatal(err)
	}
	mux := http.NewServeMux()
	ui.Register(mux)
	new(apidocs.Pages).Register(ui, mux)
	return mux
}

func get(tb testing.TB, h http.Handler, path, language string) (status int, body string) {
	tb.Helper()
	r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, base+path, http.NoBody)
	r.Header.Set("Accept-Language", language)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	text, err := io.ReadAll(w.Result().Body)
	if err != nil {
		tb.Fatal(err)
	}
	return w.Code, string(text)
}

// operations returns the ids of the OpenAPI document's operations, with their
// paths.
func operations(tb testing.TB) map[string]string {
	tb.Helper()
	text, err := openapi.Document(base)
	if err != nil {
		tb.Fatal(err)
	}
	var d struct {
		Paths map[string]map[string]struct{ OperationID string }
	}
	if err := json.Unmarshal(text, &d); err != nil {
		tb.Fatal(err)
	}
	ids := map[string]string{}
	for path, methods := range d.Paths {
		for _, o := range methods {
			ids[o.OperationID] = path
		}
	}
	return ids
}

// guides are the pages of the guides.
var guides = []string{
	"retry-a-call-safely", "send-a-large-list", "receive-webhooks", "recover-after-an-outage", "pause-a-campaign", "keep-numbers-off-a-campaign",
	"reconcile-states", "recover-a-lost-refresh-token", "test-failures-in-the-sandbox",
}

// pages are the paths of all pages.
func pages(tb testing.TB) []string {
	tb.Helper()
	all := []string{"", "?in=curl", "?in=go", "?in=python", "?in=javascript", "/webhooks", "/webhook-types", "/states", "/errors"}
	for id := range operations(tb) {
		all = append(all, "/"+id, "/"+id+"?in=go")
	}
	for _, id := range guides {
		all = append(all, "/"+id)
	}
	for i := range all {
		all[i] = apidocs.Root + all[i]
	}
	return all
}

var keyShown = regexp.MustCompile(`\bdocs\.[a-zA-Z_.]+`)

func TestPages_WholeAndLight(t *testing.T) {
	t.Parallel()
	h := handler(t)
	for _, path := range pages(t) {
		for _, language := range []string{"pt-BR", "en"} {
			status, body := get(t, h, path, language)
			if status != http.StatusOK || !strings.HasSuffix(strings.TrimSpace(body), "</html>") {
				t.Errorf("%s in %s: status %d, %d bytes", path, language, status, len(body))
			}
			if len(body) > web.HTMLLimit || strings.Contains(body, "htmx") {
				t.Errorf("%s has %d bytes, want %d at most and no htmx", path, len(body), web.HTMLLimit)
			}
			if key := keyShown.FindString(body); key != "" {
				t.Errorf("%s has no text in %s of %s", path, language, key)
			}
		}
	}
}

func TestPages_EveryOperation(t *testing.T) {
	t.Parallel()
	h := handler(t)
	_, first := get(t, h, apidocs.Root, "en")
	for id, path := range operations(t) {
		_, body := get(t, h, apidocs.Root+"/"+id, "en")
		for where, text := range map[string]string{"its page": body, "the first page": first} {
			if !strings.Contains(text, "<code>"+path+"</code>") {
				t.Errorf("%s of %s: no %s", where, id, path)
			}
		}
	}
}

func TestPages_DispatchCampaign(t *testing.T) {
	t.Parallel()
	_, body := get(t, handler(t), apidocs.Root+"/dispatchCampaign", "en")
	for _, want := range []string{
		`<code>Idempotency-Key</code> <small>string, header · 1 to 255 characters</small>`,
		`<code>messages</code> <small>array of objects · 1 to 2000 items</small> <span class="tag">required</span>`,
		`<li class="depth1"><code>phone</code>`,
		`<code>batch_already_used</code>`, // a refusal
		`"accepted": `,                    // an example
		"application/json",
		"Needs an access token",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s", want)
		}
	}
	if at := []int{strings.Index(body, "<code>campaignId</code>"), strings.Index(body, "<code>templateId</code>"), strings.Index(body, "<code>notAfter</code>")}; at[0] < 0 || at[0] > at[1] || at[1] > at[2] {
		t.Errorf("the members are not in the document's order: %v", at)
	}
}

func TestStatesAndWebhooks(t *testing.T) {
	t.Parallel()
	h := handler(t)
	_, states := get(t, h, apidocs.Root+"/states", "en")
	for _, want := range []string{`<div class="scroll" tabindex="0"><table>`, "<td>3</td>\n<td><code>delivered</code></td>", "</table></div>"} {
		if !strings.Contains(states, want) {
			t.Errorf("the states have no %s", want)
		}
	}
	_, webhooks := get(t, h, apidocs.Root+"/webhooks", "en")
	for _, want := range []string{`href="/dashboard/docs/webhook-types#message.delivered"`, "<code>webhook-signature</code>"} {
		if !strings.Contains(webhooks, want) {
			t.Errorf("the webhooks have no %s", want)
		}
	}
	_, types := get(t, h, apidocs.Root+"/webhook-types", "en")
	for _, want := range []string{`id="message.delivered"`, `id="message.tapped"`, "<code>campaign.completed</code>"} {
		if !strings.Contains(types, want) {
			t.Errorf("the types have no %s", want)
		}
	}
}

func TestPages_UnknownPath(t *testing.T) {
	t.Parallel()
	if status, _ := get(t, handler(t), apidocs.Root+"/dispatch", "en"); status != http.StatusNotFound {
		t.Errorf("status %d, want 404", status)
	}
}

func TestSamples_Address(t *testing.T) {
	t.Parallel()
	_, body := get(t, handler(t), apidocs.Root+"?in=python", "pt-BR")
	if !strings.Contains(body, `BASE = "`+base+`"`) || !strings.Contains(body, "python3 first_call.py") {
		t.Error("the page does not show the Python sample with the service's address")
	}
	var files []string
	for _, s := range apidocs.Samples(base) {
		files = append(files, s.File)
		if !strings.Contains(s.Code, base) || strings.Contains(s.Code, "{{") {
			t.Errorf("%s: the address is not filled in", s.File)
		}
	}
	if diff := cmp.Diff([]string{"first-call.sh", "first_call.go", "first_call.py", "first-call.mjs"}, files); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkPages(b *testing.B) {
	h := handler(b)
	for _, path := range []string{apidocs.Root, apidocs.Root + "/dispatchCampaign", apidocs.Root + "/webhooks", apidocs.Root + "/receive-webhooks"} {
		b.Run(strings.TrimPrefix(path, web.Root), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if status, _ := get(b, h, path, "pt-BR"); status != http.StatusOK {
					b.Fatal(status)
				}
			}
		})
	}
}

func BenchmarkFirstRequest(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		h := handler(b)
		b.StartTimer()
		if status, _ := get(b, h, apidocs.Root, "en"); status != http.StatusOK {
			b.Fatal(status)
		}
	}
}
