package sqs_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"campaign-dispatch/internal/aws/sqs"
)

// Each request for a message with a group costs more.
func TestQueue_Group(t *testing.T) {
	t.Parallel()
	for group, want := range map[string]bool{"": false, "tenant": true} {
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
		queue := sqs.New(cfg, service.URL+"/0/queue", time.Now)
		if err := queue.Send(t.Context(), group, []byte("1"), 0); err != nil {
			t.Fatal(err)
		}
		if got, has := said["MessageGroupId"]; has != want || want && got != group {
			t.Errorf("group %q: sent with %v", group, got)
		}
		if err := queue.SendGroups(t.Context(), []string{group}, [][]byte{[]byte("1")}); err != nil {
			t.Fatal(err)
		}
		entry, _ := said["Entries"].([]any)[0].(map[string]any)
		if _, has := entry["MessageGroupId"]; has != want {
			t.Errorf("group %q: sent in a batch as %v", group, entry)
		}
	}
}
