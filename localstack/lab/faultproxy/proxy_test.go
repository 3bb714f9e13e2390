package faultproxy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A fault meets one call of its name, with the retries that it includes, and no other.
func TestAFaultMeetsItsCall(t *testing.T) {
	t.Parallel()
	for kind, want := range map[Kind]struct {
		applied int  // of a call and its retry
		repeat  bool // the retry is answered
	}{
		Throttled: {0, false}, Refused: {1, true}, Lost: {2, true}, Cut: {2, true}, AllLost: {2, false},
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			applied := 0
			p := startBefore(t, func(w http.ResponseWriter, _ *http.Request) {
				applied++
				_, _ = io.WriteString(w, strings.Repeat("answer ", 100))
			})
			p.Learn("key", "send")
			armed := p.Arm(Fault{kind, Call{"send", "DynamoDB.GetItem", "BATCH C"}})

			if err := callOnce(t, p, "before", "META"); err != nil {
				t.Errorf("another call: %v", err)
			}
			applied = 0
			if callOnce(t, p, "one", "BATCH#b") == nil {
				t.Error("the call is answered")
			}
			if err := callOnce(t, p, "one", "BATCH#b"); (err == nil) != want.repeat {
				t.Errorf("its repetition: %v", err)
			}
			if applied != want.applied {
				t.Errorf("applied %d times, want %d", applied, want.applied)
			}
			if err := callOnce(t, p, "two", "BATCH#c"); err != nil {
				t.Errorf("the next call: %v", err)
			}
			select {
			case <-armed.Happened():
			default:
				t.Error("it does not say that it happened")
			}
		})
	}
}

// The process of a call is looked up while the call waits. A process that died meanwhile is
// ignored; a running one that is not found is a stranger.
func TestProxy_UnknownCallers(t *testing.T) {
	t.Parallel()
	p := startBefore(t, func(http.ResponseWriter, *http.Request) {})
	gone, die := context.WithCancel(t.Context())
	die()
	for operation, ctx := range map[string]context.Context{"PutItem": gone, "GetItem": t.Context()} {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, p.URL(), strings.NewReader("{}"))
		r.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
		r.RemoteAddr = "127.0.0.1:1"
		p.ServeHTTP(httptest.NewRecorder(), r)
	}
	if diff := cmp.Diff(map[string]int{"DynamoDB.GetItem": 1}, p.UnknownCallers()); diff != "" {
		t.Errorf("strangers (-want +got):\n%s", diff)
	}
}

// startBefore starts a proxy to an emulator with these answers.
func startBefore(t *testing.T, answer http.HandlerFunc) *Proxy {
	t.Helper()
	emulator := httptest.NewServer(answer)
	t.Cleanup(emulator.Close)
	to, err := url.Parse(emulator.URL)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Start(t.Context(), "stack", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

var errStatus = errors.New("refused")

// callOnce reads a row by an AWS client, as the function send does.
func callOnce(t *testing.T, p *Proxy, invocation, sk string) error {
	t.Helper()
	body := `{"TableName":"t","Key":{"pk":{"S":"C#a"},"sk":{"S":"` + sk + `"}}}`
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL(), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810.GetItem")
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/dynamodb/aws4_request")
	r.Header.Set("Amz-Sdk-Invocation-Id", invocation)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return errStatus
	}
	_, err = io.ReadAll(answer.Body)
	return err
}
