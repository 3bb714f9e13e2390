package runner

import (
	"io"
	"net/http"
	"net/http/httptest"
	neturl "net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

// stackWith returns a stack whose emulator is the handler.
func stackWith(t *testing.T, emulator http.HandlerFunc) Stack {
	t.Helper()
	server := httptest.NewServer(emulator)
	t.Cleanup(server.Close)
	at, err := neturl.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(at.Port())
	if err != nil {
		t.Fatal(err)
	}
	s := Stack{Dir: t.TempDir(), Ports: Ports{AWS: port}, Now: time.Now}
	if err := s.clear(); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestProxy_ForwardedRequest(t *testing.T) {
	t.Parallel()
	s := stackWith(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write([]byte(r.Method + " " + r.RequestURI + " " + r.Header.Get("X-Forwarded-For") + r.Header.Get("Upgrade") + " " + string(body)))
	})
	if err := writeFile(s.state(apiIDFile), "abc"); err != nil {
		t.Fatal(err)
	}
	call := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/x%2Fy?b=2&a=%41&c=%zz&d=1;e", strings.NewReader("body"))
	call.RemoteAddr = "192.0.2.7:1234"
	call.Header.Set("X-Forwarded-For", "203.0.113.9")
	call.Header.Set("Connection", "Upgrade, HTTP2-Settings")
	call.Header.Set("Upgrade", "h2c")
	answer := httptest.NewRecorder()
	s.proxy().ServeHTTP(answer, call)
	want := "POST /_aws/execute-api/abc/$default/api/v1/x%2Fy?b=2&a=%41&c=%zz&d=1;e 192.0.2.7 body"
	if got := answer.Body.String(); got != want {
		t.Errorf("the emulator received\n%s, want\n%s", got, want)
	}
}

func TestProxy_NotDeployed(t *testing.T) {
	t.Parallel()
	s := stackWith(t, func(http.ResponseWriter, *http.Request) { t.Error("the emulator was called") })
	answer := httptest.NewRecorder()
	s.proxy().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody))
	if answer.Code != http.StatusServiceUnavailable {
		t.Errorf("status %d, want 503", answer.Code)
	}
}
