package sqs_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/sqs"
)

// rejecting is SQS that rejects the message "b" for some calls.
type rejecting struct {
	calls int
	sent  []string // the bodies of each call
}

func (s *rejecting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var said struct {
		Entries []struct {
			ID   string `json:"Id"`
			Body string `json:"MessageBody"`
		}
	}
	_ = json.NewDecoder(r.Body).Decode(&said)
	failed := []map[string]string{}
	var bodies []string
	for _, e := range said.Entries {
		bodies = append(bodies, e.Body)
		if e.Body == "b" && len(s.sent) < s.calls {
			failed = append(failed, map[string]string{"Id": e.ID, "Code": "InternalError"})
		}
	}
	s.sent = append(s.sent, strings.Join(bodies, " "))
	_ = json.NewEncoder(w).Encode(map[string]any{"Failed": failed})
}

// Only rejected messages are sent again, in three calls at most.
func TestQueue_Rejected(t *testing.T) {
	t.Parallel()
	for calls, want := range map[int][]string{0: {"a b c"}, 1: {"a b c", "b"}, 3: {"a b c", "b", "b"}} {
		s := &rejecting{calls: calls}
		service := httptest.NewServer(s)
		t.Cleanup(service.Close)
		cfg := aws.Config{
			Region: "us-east-1", BaseEndpoint: &service.URL, Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
			HTTPClient: service.Client(),
		}
		err := sqs.New(cfg, service.URL+"/0/queue", time.Now).SendAll(t.Context(), "", [][]byte{[]byte("a"), []byte("b"), []byte("c")})
		if diff := cmp.Diff(want, s.sent); diff != "" || (err != nil) != (calls == 3) {
			t.Errorf("rejected by %d calls: error %v (-want +sent):\n%s", calls, err, diff)
		}
	}
}
