package sink_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/localstack/sink"
)

const (
	secret = "whsec_c2VjcmV0IG9mIHRoZSB0ZXN0cw=="
	body   = `{"type":"message.sent","data":{"uid":"a"}}`
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newSink(t *testing.T) *sink.Sink {
	t.Helper()
	s, err := sink.New(secret, func() time.Time { return start })
	if err != nil {
		t.Fatalf("new sink: %v", err)
	}
	return s
}

func call(t *testing.T, s *sink.Sink, method, path, body string, header map[string]string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	for name, value := range header {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// events returns the events of the control API.
func events(t *testing.T, s *sink.Sink) []sink.Event {
	t.Helper()
	var events []sink.Event
	if err := json.Unmarshal(call(t, s, "GET", "/_sink/events", "", nil).Body.Bytes(), &events); err != nil {
		t.Fatalf("read the events: %v", err)
	}
	return events
}

// signed returns the headers of a webhook with the tests' body, signed with the
// tests' secret.
func signed(at time.Time) map[string]string {
	timestamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte("secret of the tests"))
	mac.Write([]byte("msg_1." + timestamp + "." + body))
	return map[string]string{
		"webhook-id":        "msg_1",
		"webhook-timestamp": timestamp,
		"webhook-signature": "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)),
	}
}

func TestReceive(t *testing.T) {
	t.Parallel()
	s := newSink(t)
	headers := signed(start)
	if w := call(t, s, "POST", "/any/path", body, headers); w.Code != http.StatusNoContent {
		t.Errorf("got %d, want 204", w.Code)
	}
	want := []sink.Event{{Headers: headers, Body: body, ReceivedAt: start, Verified: true, Status: 204}}
	if diff := cmp.Diff(want, events(t, s)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	call(t, s, "DELETE", "/_sink/events", "", nil)
	if got := call(t, s, "GET", "/_sink/events", "", nil).Body.String(); got != "[]\n" {
		t.Errorf("after DELETE: %q, want []", got)
	}
}

func TestReceive_Verification(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		at   time.Time
		edit func(map[string]string)
		want bool
	}{
		{"valid", start, func(map[string]string) {}, true},
		{"five minutes old", start.Add(-5 * time.Minute), func(map[string]string) {}, true},
		{"too old", start.Add(-5*time.Minute - time.Second), func(map[string]string) {}, false},
		{"in the future", start.Add(5*time.Minute + time.Second), func(map[string]string) {}, false},
		{"second of two signatures", start, func(h map[string]string) {
			h["webhook-signature"] = "v1,AAAA v1a,BBBB " + h["webhook-signature"]
		}, true},
		{"another id", start, func(h map[string]string) { h["webhook-id"] = "msg_2" }, false},
		{"another time", start, func(h map[string]string) { h["webhook-timestamp"] += "0" }, false},
		{"no version", start, func(h map[string]string) { h["webhook-signature"] = h["webhook-signature"][3:] }, false},
		{"no headers", start, func(h map[string]string) { clear(h) }, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSink(t)
			headers := signed(test.at)
			test.edit(headers)
			call(t, s, "POST", "/", body, headers)
			got := events(t, s)
			if len(got) != 1 || got[0].Verified != test.want {
				t.Errorf("got %v, want one event, verified: %v", got, test.want)
			}
		})
	}
}

func TestReceive_ChangedBody(t *testing.T) {
	t.Parallel()
	s := newSink(t)
	call(t, s, "POST", "/", body+" ", signed(start))
	if got := events(t, s); len(got) != 1 || got[0].Verified {
		t.Errorf("got %v, want one unverified event", got)
	}
}

func TestBehaviour(t *testing.T) {
	t.Parallel()
	s := newSink(t)
	statuses := func(behaviour string) []int {
		if w := call(t, s, "PUT", "/_sink/behaviour", behaviour, nil); w.Code != http.StatusNoContent {
			t.Fatalf("behaviour %s: got %d, want 204", behaviour, w.Code)
		}
		var got []int
		for range 3 {
			got = append(got, call(t, s, "POST", "/", body, signed(start)).Code)
		}
		return got
	}
	if diff := cmp.Diff([]int{503, 503, 204}, statuses(`{"failNext":2,"status":503}`)); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{500, 204, 204}, statuses(`{"failNext":1}`)); diff != "" {
		t.Errorf("default status (-want +got):\n%s", diff)
	}
	began := time.Now()
	statuses(`{"latencyMs":5}`)
	if time.Since(began) < 15*time.Millisecond {
		t.Error("three webhooks took less than three times the latency")
	}
	for _, bad := range []string{`{"failNext":-1}`, `{"status":200}`, `{"latencyMs":-1}`, `{"fail":1}`, ``} {
		if w := call(t, s, "PUT", "/_sink/behaviour", bad, nil); w.Code != http.StatusBadRequest {
			t.Errorf("behaviour %s: got %d, want 400", bad, w.Code)
		}
	}
}

func TestServeHTTP_Rejected(t *testing.T) {
	t.Parallel()
	s := newSink(t)
	for _, request := range []struct {
		method, path string
		want         int
	}{
		{"GET", "/", http.StatusMethodNotAllowed},
		{"POST", "/_sink/elsewhere", http.StatusNotFound},
	} {
		if w := call(t, s, request.method, request.path, "", nil); w.Code != request.want {
			t.Errorf("%s %s: got %d, want %d", request.method, request.path, w.Code, request.want)
		}
	}
	if w := call(t, s, "POST", "/", strings.Repeat("a", 1<<20+1), nil); w.Code != http.StatusBadRequest {
		t.Errorf("body of more than 1 MB: got %d, want 400", w.Code)
	}
	if got := events(t, s); len(got) != 0 {
		t.Errorf("kept %v, want nothing", got)
	}
}

func TestNew_InvalidSecret(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "whsec_", "whsec_*", "c2VjcmV0"} {
		if _, err := sink.New(bad, time.Now); err == nil {
			t.Errorf("secret %q: got no error", bad)
		}
	}
}
