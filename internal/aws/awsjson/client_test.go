package awsjson_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"campaign-dispatch/internal/aws/awsjson"
)

// service is an AWS service with prepared responses, the last one repeated.
type service struct {
	answers []answer
	signed  []string // times of the requests
}

// answer is a response, or a broken connection if it has no status.
type answer struct {
	status int
	body   string
	cut    bool // the body ends early
}

var errBroken = errors.New("connection reset by peer")

func (s *service) Do(r *http.Request) (*http.Response, error) {
	a := s.answers[min(len(s.signed), len(s.answers)-1)]
	s.signed = append(s.signed, r.Header.Get("X-Amz-Date"))
	if a.status == 0 {
		return nil, errBroken
	}
	reply := httptest.NewRecorder()
	reply.Header().Set("X-Amzn-Requestid", "r-1")
	reply.WriteHeader(a.status)
	_, _ = reply.WriteString(a.body)
	response := reply.Result()
	if a.cut {
		response.Body = io.NopCloser(io.MultiReader(response.Body, cut{}))
	}
	return response, nil
}

type cut struct{}

func (cut) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// client has a clock that advances by an hour with each reading.
func (s *service) client() *awsjson.Client {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	cfg := aws.Config{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""), HTTPClient: s}
	return awsjson.New(cfg, awsjson.Service{Name: "ssm", Target: "AmazonSSM", Version: "1.1"}, func() time.Time { now = now.Add(time.Hour); return now })
}

// get reads a parameter.
func get(ctx context.Context, c *awsjson.Client) (string, error) {
	var answer struct{ Parameter struct{ Value string } }
	err := c.Call(ctx, "GetParameter", map[string]string{"Name": "/agents/a"}, &answer)
	return answer.Parameter.Value, err
}

var found = answer{status: 200, body: `{"Parameter":{"Value":"the key"}}`}

func refused(status int, code string) answer {
	return answer{status: status, body: `{"__type":"` + code + `"}`}
}

func TestCall_Retries(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers []answer
		tries   int
		err     string
	}{
		"found":             {[]answer{found}, 1, ""},
		"throttled":         {[]answer{refused(400, "ThrottlingException"), found}, 2, ""},
		"throttled by name": {[]answer{refused(400, "com.amazonaws.ssm#ThrottlingException"), found}, 2, ""},
		"failed":            {[]answer{refused(500, "InternalServerError"), {status: 503}, found}, 3, ""},
		"broken":            {[]answer{{}, found}, 2, ""},
		"cut":               {[]answer{{status: 200, body: `{"Para`, cut: true}, found}, 2, ""},
		"always failing":    {[]answer{refused(500, "InternalServerError")}, 3, "InternalServerError"},
		"denied":            {[]answer{refused(400, "AccessDeniedException"), found}, 1, "AccessDeniedException"},
		"not found":         {[]answer{refused(400, "ParameterNotFound"), found}, 1, "ParameterNotFound"},
		"no JSON":           {[]answer{{status: 200, body: "hello"}, found}, 1, "read the answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &service{answers: c.answers}
				value, err := get(t.Context(), s.client())
				if c.err == "" && (err != nil || value != "the key") || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
					t.Errorf("read %q, %v; want error %q", value, err, c.err)
				}
				if n := len(s.signed); n != c.tries || len(slices.Compact(s.signed)) != n {
					t.Errorf("%d tries, signed at %v; want %d, each signed anew", n, s.signed, c.tries)
				}
			})
		})
	}
}

func TestCall_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
		defer cancel()
		s := &service{answers: []answer{{}}}
		if _, err := get(ctx, s.client()); !errors.Is(err, errBroken) || len(s.signed) != 1 {
			t.Errorf("%d tries: %v", len(s.signed), err)
		}
	})
}

// An error names what AWS refused, and its request.
func TestCall_Refused(t *testing.T) {
	t.Parallel()
	s := &service{answers: []answer{{status: 400, body: `{"__type":"AccessDeniedException","Message":"not authorized to perform: ssm:GetParameter"}`}}}
	_, err := get(t.Context(), s.client())
	for _, want := range []string{"ssm", "AccessDeniedException", "not authorized to perform: ssm:GetParameter", `request "r-1"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %s: %v", want, err)
		}
	}
}

// While a service fails, its client soon makes one attempt a call, as the SDK does, and repeats again when it succeeds.
func TestCall_QuotaOfRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{answers: []answer{refused(500, "InternalServerError")}}
		c := s.client()
		call := func(calls int) (attempts int) {
			before := len(s.signed)
			for range calls {
				_, _ = get(t.Context(), c)
			}
			return len(s.signed) - before
		}
		if n := call(50); n != 150 {
			t.Errorf("the first 50 calls made %d attempts, want 150", n)
		}
		if n := call(50); n != 50 {
			t.Errorf("the next 50 calls made %d attempts, want 50", n)
		}
		s.answers = []answer{found}
		call(20)
		s.answers = []answer{refused(500, "InternalServerError")}
		if n := call(1); n != 3 {
			t.Errorf("after successful calls, a call made %d attempts, want 3", n)
		}
	})
}
