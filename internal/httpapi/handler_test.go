package httpapi_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/httpapi"
)

func serve(t *testing.T, h httpapi.HandlerFunc) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody))
	return w
}

func TestHandlerFunc_Errors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"a problem": {
			&httpapi.Problem{
				Status: 400, Code: "missing_uid", Detail: "A message has no uid.",
				Errors: []httpapi.Violation{{Pointer: "/messages/17/uid", Code: "missing_uid", Detail: "uid is missing."}},
			},
			`{"type":"about:blank","title":"Bad Request","status":400,"code":"missing_uid","detail":"A message has no uid.",` +
				`"errors":[{"pointer":"/messages/17/uid","code":"missing_uid","detail":"uid is missing."}]}`,
		},
		"a wrapped problem": {
			fmt.Errorf("judge the call: %w", &httpapi.Problem{Status: 404, Code: "not_found"}),
			`{"type":"about:blank","title":"Not Found","status":404,"code":"not_found"}`,
		},
		"any other error": {
			errors.New("put campaign: table is gone"),
			`{"type":"about:blank","title":"Internal Server Error","status":500,"code":"internal_error","detail":"The service failed. Retry later."}`,
		},
		"a deadline": {
			fmt.Errorf("read the sets: %w", context.DeadlineExceeded),
			`{"type":"about:blank","title":"Service Unavailable","status":503,"code":"try_again","detail":"The call was not completed in time. Retry with the same Idempotency-Key, if you use one."}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := serve(t, func(http.ResponseWriter, *http.Request) error { return c.err })
			if diff := cmp.Diff(c.want+"\n", w.Body.String()); diff != "" {
				t.Error(diff)
			}
			if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
				t.Errorf("content type %q", got)
			}
			if retry := w.Header().Get("Retry-After"); (retry != "") != (w.Code == http.StatusServiceUnavailable) {
				t.Errorf("status %d, Retry-After %q", w.Code, retry)
			}
		})
	}
}

func TestHandlerFunc_Headers(t *testing.T) {
	t.Parallel()
	w := serve(t, func(http.ResponseWriter, *http.Request) error {
		return &httpapi.Problem{Status: 401, Code: "invalid_token", Header: http.Header{"WWW-Authenticate": {"Bearer"}}}
	})
	if w.Code != http.StatusUnauthorized || w.Header().Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("got %d %v", w.Code, w.Header())
	}
}

func TestHandlerFunc_TooManyViolations(t *testing.T) {
	t.Parallel()
	w := serve(t, func(http.ResponseWriter, *http.Request) error {
		return &httpapi.Problem{Status: 400, Code: "missing_uid", Errors: make([]httpapi.Violation, 2000)}
	})
	var got struct{ Errors []httpapi.Violation }
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got.Errors) != 100 {
		t.Errorf("%d violations, %v", len(got.Errors), err)
	}
}

// The test replaces the process's default logger, so it does not run in parallel.
func TestHandlerFunc_LogsNoRequestData(t *testing.T) { //nolint:paralleltest // sets the default logger
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&log, nil)))
	defer slog.SetDefault(before)
	var none []int
	for name, h := range map[string]httpapi.HandlerFunc{
		"error":         func(http.ResponseWriter, *http.Request) error { return errors.New("disk is full") },
		"index panic":   func(http.ResponseWriter, *http.Request) error { none[0]++; return nil },
		"content panic": func(http.ResponseWriter, *http.Request) error { panic("phone +5511987654321") },
	} {
		log.Reset()
		w := serve(t, h)
		if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), `"internal_error"`) {
			t.Errorf("%s: answered %d %s", name, w.Code, w.Body)
		}
		if !strings.Contains(log.String(), `"level":"ERROR"`) || strings.Contains(log.String(), "98765") {
			t.Errorf("%s: logged %q", name, log.String())
		}
	}
}

func TestBody(t *testing.T) {
	t.Parallel()
	const limit = 10
	for text, status := range map[string]int{"": 200, "0123456789": 200, "0123456789a": 413} {
		for name, code := range map[string]int{"net/http": overHTTP(t, text, limit), "in memory": inMemory(t, text, limit)} {
			if code != status {
				t.Errorf("%s, %d bytes: %d, want %d", name, len(text), code, status)
			}
		}
	}
}

// bodyHandler answers 200 if it received the whole text.
func bodyHandler(text string, limit int) httpapi.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) error {
		got, err := httpapi.Body(r, limit)
		if err == nil && string(got) != text {
			err = errors.New("another body")
		}
		return err
	}
}

func overHTTP(t *testing.T, text string, limit int) int {
	t.Helper()
	w := httptest.NewRecorder()
	bodyHandler(text, limit).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(text)))
	return w.Code
}

func inMemory(t *testing.T, text string, limit int) int {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
	r.Body = httpapi.NewBody([]byte(text))
	bodyHandler(text, limit).ServeHTTP(w, r)
	return w.Code
}

func TestBaseURL_WithoutGateway(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:3000/x", http.NoBody)
	r.Header.Set("X-Forwarded-For", "203.0.113.99")
	r.RemoteAddr = "192.0.2.1:1234"
	if got := httpapi.SourceIP(r); got != "192.0.2.1" {
		t.Errorf("source %s", got)
	}
	if got := httpapi.BaseURL(r, "https://api.example/"); got != "https://api.example" {
		t.Errorf("configured base %s", got)
	}
	if got := httpapi.BaseURL(r, ""); got != "http://127.0.0.1:3000" {
		t.Errorf("base %s", got)
	}
	r.TLS = &tls.ConnectionState{}
	if got := httpapi.BaseURL(r, ""); got != "https://127.0.0.1:3000" {
		t.Errorf("base over TLS %s", got)
	}
}

func TestExact_NoRedirect(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	h := httpapi.Exact(mux, http.NotFoundHandler())
	for path, status := range map[string]int{
		"/": 200, "/a/b": 200, "/a%2Fb": 200, "//": 404, "/a//b": 404, "/a/../b": 404, "/a/": 404, "/./a": 404,
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost"+path, http.NoBody))
		if w.Code != status {
			t.Errorf("%s: %d, want %d", path, w.Code, status)
		}
	}
}
