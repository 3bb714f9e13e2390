package lambdahttp_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/lambdahttp"
	"campaign-dispatch/internal/httpapi"
)

// answer is a response in payload format 2.0.
type answer struct {
	StatusCode      int
	Headers         map[string]string
	Cookies         []string
	Body            string
	IsBase64Encoded bool
}

// invoke calls the handler with an event, as Lambda does.
func invoke(t *testing.T, h http.Handler, event string) answer {
	t.Helper()
	out, err := lambdahttp.NewHandler(h).Invoke(t.Context(), []byte(event))
	if err != nil {
		t.Fatal(err)
	}
	var a answer
	if err := json.Unmarshal(out, &a); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	return a
}

func document(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// seen records a request.
type seen struct {
	Method, Path, Escaped, Query, Host, SourceIP, BaseURL, Body string
	Tags                                                        []string
	Header                                                      map[string]string
	Cookie                                                      string
	Length                                                      int64
}

func record(to *seen) http.Handler {
	return httpapi.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) error {
		body, err := httpapi.Body(r, 1000)
		*to = seen{
			Method: r.Method, Path: r.URL.Path, Escaped: r.URL.EscapedPath(), Query: r.URL.RawQuery, Host: r.Host,
			SourceIP: httpapi.SourceIP(r), BaseURL: httpapi.BaseURL(r, ""), Body: string(body),
			Tags: r.URL.Query()["tag"], Header: map[string]string{}, Length: r.ContentLength,
		}
		for _, name := range []string{"Accept", "Authorization", "Content-Type"} {
			to.Header[name] = r.Header.Get(name)
		}
		if c, err := r.Cookie("theme"); err == nil {
			to.Cookie = c.Value
		}
		return err
	})
}

func TestInvoke_Request(t *testing.T) {
	t.Parallel()
	minimal := `{"requestContext":{"http":{"method":"GET"}},"rawPath":%q,"body":null,"headers":null,"cookies":null,"extra":[{}]}`
	for name, c := range map[string]struct {
		event string
		want  seen
	}{
		"HTTP API": {document(t, "httpapi.json"), seen{
			Method: "POST", Path: "/api/v1/external/campaigns/dispatch", Escaped: "/api/v1/external/campaigns/dispatch",
			Query: "dryRun=true&tag=a&tag=b%20c", Host: "a1b2c3d4e5.execute-api.sa-east-1.amazonaws.com",
			SourceIP: "203.0.113.7", BaseURL: "https://a1b2c3d4e5.execute-api.sa-east-1.amazonaws.com",
			Body: "{\"name\":\"Promoção\",\n\"n\":1.50}", Tags: []string{"a", "b c"}, Cookie: "dark", Length: 31,
			Header: map[string]string{"Accept": "application/json, text/plain", "Authorization": "Bearer abc", "Content-Type": "application/json"},
		}},
		"function URL": {document(t, "functionurl.json"), seen{
			Method: "POST", Path: "/events/a/b", Escaped: "/events/a%2Fb", Host: "abcdefg.lambda-url.sa-east-1.on.aws",
			SourceIP: "2001:db8::7", BaseURL: "https://abcdefg.lambda-url.sa-east-1.on.aws",
			Body: "grant_type=client_credentials", Length: 29,
			Header: map[string]string{"Accept": "", "Authorization": "", "Content-Type": "application/x-www-form-urlencoded"},
		}},
		"missing fields": {fmt.Sprintf(minimal, ""), seen{
			Method: "GET", Path: "/", Escaped: "/", BaseURL: "https://",
			Header: map[string]string{"Accept": "", "Authorization": "", "Content-Type": ""},
		}},
		"a path that is not escaped": {fmt.Sprintf(minimal, "/100%/é"), seen{
			Method: "GET", Path: "/100%/é", Escaped: "/100%25/%C3%A9", BaseURL: "https://",
			Header: map[string]string{"Accept": "", "Authorization": "", "Content-Type": ""},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got seen
			if a := invoke(t, record(&got), c.event); a.StatusCode != http.StatusOK {
				t.Fatalf("status %d", a.StatusCode)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// secure are the headers of every answer.
var secure = map[string]string{"Strict-Transport-Security": "max-age=31536000", "X-Content-Type-Options": "nosniff"}

func TestInvoke_Response(t *testing.T) {
	t.Parallel()
	a := invoke(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("Vary", "Accept")
		w.Header().Add("Vary", "Origin")
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "1"})
		http.SetCookie(w, &http.Cookie{Name: "b", Value: "2"})
		w.WriteHeader(http.StatusAccepted)
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, `{"olá":"<b>"`)
		_, _ = io.WriteString(w, `}`)
	}), document(t, "httpapi.json"))
	want := answer{
		StatusCode: http.StatusAccepted,
		Headers:    map[string]string{"Vary": "Accept, Origin"},
		Cookies:    []string{"a=1", "b=2"},
		Body:       `{"olá":"<b>"}`,
	}
	maps.Copy(want.Headers, secure)
	if diff := cmp.Diff(want, a); diff != "" {
		t.Error(diff)
	}
}

func TestInvoke_BinaryResponse(t *testing.T) {
	t.Parallel()
	a := invoke(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte{0xff, 0x00})
	}), document(t, "httpapi.json"))
	want := answer{StatusCode: http.StatusOK, Headers: secure, Body: "/wA=", IsBase64Encoded: true}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Error(diff)
	}
}

func TestInvoke_LongEscapes(t *testing.T) {
	t.Parallel()
	body := strings.Repeat(`"`, 4<<20)
	a := invoke(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, body)
	}), document(t, "httpapi.json"))
	decoded, err := base64.StdEncoding.DecodeString(a.Body)
	if err != nil || string(decoded) != body {
		t.Errorf("the body came out different, %v", err)
	}
	if len(a.Body) > 6_000_000 {
		t.Errorf("%d bytes", len(a.Body))
	}
}

func TestInvoke_HEAD(t *testing.T) {
	t.Parallel()
	a := invoke(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		httpapi.WriteJSON(w, http.StatusOK, "text")
	}), `{"rawPath":"/","requestContext":{"http":{"method":"HEAD"}}}`)
	if a.Body != "" || a.Headers["Content-Type"] != "application/json" {
		t.Errorf("got %+v", a)
	}
}

func TestInvoke_InvalidEvent(t *testing.T) {
	t.Parallel()
	for _, event := range []string{
		``, `null`, `[]`, `{}`, `{"Records":[]}`, `{"requestContext":{"http":{}}}`,
		`{"requestContext":{"http":{"method":"GET"}}`,
		`{"requestContext":{"http":{"method":"POST"}},"body":"*","isBase64Encoded":true}`,
	} {
		out, err := lambdahttp.NewHandler(http.NotFoundHandler()).Invoke(t.Context(), []byte(event))
		if err == nil {
			t.Errorf("%s: answered %s", event, out)
		}
	}
}

func TestInvoke_InvalidUTF8(t *testing.T) {
	t.Parallel()
	a := invoke(t, http.NotFoundHandler(), `{"requestContext":{"http":{"method":"POST"}},"body":"\udcff"}`)
	if a.StatusCode != http.StatusBadRequest || !strings.Contains(a.Body, `"invalid_utf8"`) {
		t.Errorf("got %+v", a)
	}
}

func TestInvoke_Deadline(t *testing.T) {
	t.Parallel()
	deadline := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(t.Context(), deadline)
	defer cancel()
	var got time.Time
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got, _ = r.Context().Deadline() })
	if _, err := lambdahttp.NewHandler(h).Invoke(ctx, []byte(document(t, "httpapi.json"))); err != nil {
		t.Fatal(err)
	}
	if !got.Before(deadline) || got.Before(deadline.Add(-time.Second)) {
		t.Errorf("the handler has until %v, Lambda until %v", got, deadline)
	}
}

func BenchmarkInvoke(b *testing.B) {
	message := `{"phone":"+5511987654321","uid":"order-00000001-2026","vars":{"nome":"João Conceição","pedido":"PED-00000001",` +
		`"link":"https://loja.example/p/00000001?utm=rcs","cupom":"SEXTA-000001"}},`
	body, err := json.Marshal(strings.Repeat(message, 2000))
	if err != nil {
		b.Fatal(err)
	}
	event := []byte(`{"version":"2.0","rawPath":"/","headers":{"content-type":"application/json"},` +
		`"requestContext":{"http":{"method":"POST","sourceIp":"203.0.113.7"}},"body":` + string(body) + `,"isBase64Encoded":false}`)
	h := lambdahttp.NewHandler(httpapi.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		if body, err := httpapi.Body(r, 1<<20); err != nil || len(body) != 2000*len(message) {
			return fmt.Errorf("%d bytes: %w", len(body), err)
		}
		w.WriteHeader(http.StatusAccepted)
		return nil
	}))
	b.SetBytes(int64(len(event)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h.Invoke(b.Context(), event); err != nil {
			b.Fatal(err)
		}
	}
}

func TestInvoke_BodyReader(t *testing.T) {
	t.Parallel()
	a := invoke(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, err := io.ReadAll(r.Body)
		if err != nil || r.Body.Close() != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = w.Write(got)
	}), document(t, "functionurl.json"))
	if a.StatusCode != http.StatusOK || a.Body != "grant_type=client_credentials" {
		t.Errorf("got %+v", a)
	}
}
