package sqs_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/sqs"
	"campaign-dispatch/internal/base/trace"
)

// newQueue returns a queue, and the last request to it.
func newQueue(t *testing.T) (*sqs.Queue, *map[string]any) {
	t.Helper()
	var said map[string]any
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said = nil
		if err := json.NewDecoder(r.Body).Decode(&said); err != nil {
			t.Error(err)
		}
		_, _ = w.Write([]byte("{}"))
	}))
	t.Cleanup(service.Close)
	cfg := aws.Config{
		Region: "us-east-1", BaseEndpoint: &service.URL, Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
		HTTPClient: service.Client(),
	}
	return sqs.New(cfg, service.URL+"/0/queue", time.Now), &said
}

// A message passes on the trace of a sampled call.
func TestQueue_Trace(t *testing.T) {
	t.Parallel()
	const sampled = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"
	for header, want := range map[string]any{
		"": nil, "Root=1-a-b;Parent=c;Sampled=1": nil,
		sampled: map[string]any{"AWSTraceHeader": map[string]any{"DataType": "String", "StringValue": sampled}},
	} {
		queue, said := newQueue(t)
		inCall(t, header, func(ctx context.Context) error { return queue.Send(ctx, "", []byte("1"), 0) })
		if diff := cmp.Diff(want, (*said)["MessageSystemAttributes"]); diff != "" {
			t.Errorf("%q: attributes of a message (-want +got):\n%s", header, diff)
		}
		inCall(t, header, func(ctx context.Context) error { return queue.SendAll(ctx, "", [][]byte{[]byte("1")}) })
		entry, _ := (*said)["Entries"].([]any)[0].(map[string]any)
		if diff := cmp.Diff(want, entry["MessageSystemAttributes"]); diff != "" {
			t.Errorf("%q: attributes in a batch (-want +got):\n%s", header, diff)
		}
	}
}

// inCall runs what a call of a traced function with the header of a trace does.
func inCall(t *testing.T, header string, do func(ctx context.Context) error) {
	t.Helper()
	ctx := context.WithValue(t.Context(), "x-amzn-trace-id", header) //nolint:staticcheck,revive // the key of aws-lambda-go
	h := trace.NewHandler(func(ctx context.Context, _ []byte) ([]byte, error) { return nil, do(ctx) }, trace.ToDaemon(""), time.Now)
	if _, err := h.Invoke(ctx, nil); err != nil {
		t.Fatal(err)
	}
}

// Each request for a message with a group costs more.
func TestQueue_Group(t *testing.T) {
	t.Parallel()
	for group, want := range map[string]bool{"": false, "tenant": true} {
		queue, last := newQueue(t)
		if err := queue.Send(t.Context(), group, []byte("1"), 0); err != nil {
			t.Fatal(err)
		}
		if got, has := (*last)["MessageGroupId"]; has != want || want && got != group {
			t.Errorf("group %q: sent with %v", group, got)
		}
		if err := queue.SendGroups(t.Context(), []string{group}, [][]byte{[]byte("1")}); err != nil {
			t.Fatal(err)
		}
		entry, _ := (*last)["Entries"].([]any)[0].(map[string]any)
		if _, has := entry["MessageGroupId"]; has != want {
			t.Errorf("group %q: sent in a batch as %v", group, entry)
		}
	}
}
