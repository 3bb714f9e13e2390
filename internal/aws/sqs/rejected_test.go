package sqs_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/sqs"
)

// rejecting is SQS that rejects the message "b" for some calls.
type rejecting struct {
	calls int
	sent  []string    // the bodies of each call
	at    []time.Time // of each call
}

func (s *rejecting) Do(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	s.answer(w, r)
	return w.Result(), nil
}

func (s *rejecting) answer(w http.ResponseWriter, r *http.Request) {
	s.at = append(s.at, time.Now())
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

// Only rejected messages are sent again, after a wait, in three calls at most.
func TestQueue_Rejected(t *testing.T) {
	t.Parallel()
	for calls, want := range map[int][]string{0: {"a b c"}, 1: {"a b c", "b"}, 3: {"a b c", "b", "b"}} {
		synctest.Test(t, func(t *testing.T) {
			s := &rejecting{calls: calls}
			cfg := aws.Config{
				Region: "us-east-1", BaseEndpoint: aws.String("https://sqs.example"),
				Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), HTTPClient: s,
			}
			err := sqs.New(cfg, "https://sqs.example/0/queue", time.Now).SendAll(t.Context(), "", [][]byte{[]byte("a"), []byte("b"), []byte("c")})
			if diff := cmp.Diff(want, s.sent); diff != "" || (err != nil) != (calls == 3) {
				t.Errorf("rejected by %d calls: error %v (-want +sent):\n%s", calls, err, diff)
			}
			for i := 1; i < len(s.at); i++ {
				if !s.at[i].After(s.at[i-1]) {
					t.Errorf("call %d is repeated without a wait", i)
				}
			}
		})
	}
}
