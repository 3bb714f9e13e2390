package ssm_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"campaign-dispatch/internal/aws/ssm"
)

// fakeSSM answers each request with a status and a body.
type fakeSSM struct {
	status int
	body   string
}

func (s fakeSSM) Do(*http.Request) (*http.Response, error) {
	reply := httptest.NewRecorder()
	reply.WriteHeader(s.status)
	_, _ = reply.WriteString(s.body)
	return reply.Result(), nil
}

func (s fakeSSM) reader() ssm.Reader {
	return ssm.Reader{
		Config: aws.Config{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""), HTTPClient: s},
		Now:    time.Now,
	}
}

func TestKeyDocument(t *testing.T) {
	t.Parallel()
	value, err := fakeSSM{200, `{"Parameter":{"Value":"the key"}}`}.reader().KeyDocument(t.Context(), "/agents/a")
	if err != nil || string(value) != "the key" {
		t.Errorf("read %q, %v", value, err)
	}
	_, err = fakeSSM{400, `{"__type":"ParameterNotFound"}`}.reader().KeyDocument(t.Context(), "/agents/a")
	if err == nil || !strings.Contains(err.Error(), "/agents/a") || !strings.Contains(err.Error(), "ParameterNotFound") {
		t.Errorf("the error is %v, want the parameter and the code", err)
	}
}
