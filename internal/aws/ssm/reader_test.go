package ssm_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"campaign-dispatch/internal/aws/ssm"
)

// fakeSSM answers each request with a status and a body.
type fakeSSM struct {
	status   int
	body     string
	requests int
}

func (s *fakeSSM) Do(*http.Request) (*http.Response, error) {
	s.requests++
	reply := httptest.NewRecorder()
	reply.WriteHeader(s.status)
	_, _ = reply.WriteString(s.body)
	return reply.Result(), nil
}

func (s *fakeSSM) reader() *ssm.Reader {
	cfg := aws.Config{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""), HTTPClient: s}
	return ssm.New(cfg, time.Now)
}

func TestKeyDocument(t *testing.T) {
	t.Parallel()
	value, err := (&fakeSSM{status: 200, body: `{"Parameter":{"Value":"the key"}}`}).reader().KeyDocument(t.Context(), "/agents/a")
	if err != nil || string(value) != "the key" {
		t.Errorf("read %q, %v", value, err)
	}
	_, err = (&fakeSSM{status: 400, body: `{"__type":"ParameterNotFound"}`}).reader().KeyDocument(t.Context(), "/agents/a")
	if err == nil || !strings.Contains(err.Error(), "/agents/a") || !strings.Contains(err.Error(), "ParameterNotFound") {
		t.Errorf("the error is %v, want the parameter and the code", err)
	}
}

// The calls of a reader share the quota of retries: a failing Parameter Store soon gets one request a call.
func TestKeyDocument_QuotaOfRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeSSM{status: 500, body: `{"__type":"InternalServerError"}`}
		reader := store.reader()
		for range 60 {
			_, _ = reader.KeyDocument(t.Context(), "/agents/a")
		}
		if store.requests != 50*3+10 {
			t.Errorf("60 calls made %d requests, want 160", store.requests)
		}
	})
}
