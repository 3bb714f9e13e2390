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
	for header, want := range map[string]any{
		"": nil, "Root=1-a-b;Parent=c;Sampled=0": nil,
		"Root=1-a-b;Parent=c;Sampled=1": map[string]any{
			"AWSTraceHeader": map[string]any{"DataType": "String", "StringValue": "Root=1-a-b;Parent=c;Sampled=1"},
		},
	} {
		queue, said := newQueue(t)
		ctx := context.WithValue(t.Context(), "x-amzn-trace-id", header) //nolint:staticcheck,revive // the key of aws-lambda-go
		if err := queue.Send(ctx, "", []byte("1"), 0); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, (*said)["MessageSystemAttributes"]); diff != "" {
			t.Errorf("%q: attributes of a message (-want +got):\n%s", header, diff)
		}
		if err := queue.SendAll(ctx, "", [][]byte{[]byte("1")}); err != nil {
			t.Fatal(err)
		}
		entry, _ := (*said)["Entries"].([]any)[0].(map[string]any)
		if diff := cmp.Diff(want, entry["MessageSystemAttributes"]); diff != "" {
			t.Errorf("%q: attributes in a batch (-want +got):\n%s", header, diff)
		}
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
