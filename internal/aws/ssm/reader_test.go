package ssm_test

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

	"campaign-dispatch/internal/aws/ssm"
)

// fakeSSM returns prepared responses, the last one repeated.
type fakeSSM struct {
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

func (s *fakeSSM) Do(r *http.Request) (*http.Response, error) {
	a := s.answers[min(len(s.signed), len(s.answers)-1)]
	s.signed = append(s.signed, r.Header.Get("X-Amz-Date"))
	if a.status == 0 {
		return nil, errBroken
	}
	reply := httptest.NewRecorder()
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

// reader has a clock that advances by an hour with each reading.
func (s *fakeSSM) reader() ssm.Reader {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	return ssm.Reader{
		Config: aws.Config{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""), HTTPClient: s},
		Now:    func() time.Time { now = now.Add(time.Hour); return now },
	}
}

var found = answer{status: 200, body: `{"Parameter":{"Value":"the key"}}`}

func refused(status int, code string) answer {
	return answer{status: status, body: `{"__type":"` + code + `"}`}
}

func TestKeyDocument_Retries(t *testing.T) {
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
				s := &fakeSSM{answers: c.answers}
				value, err := s.reader().KeyDocument(t.Context(), "/agents/a")
				if c.err == "" && (err != nil || string(value) != "the key") || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
					t.Errorf("read %q, %v; want error %q", value, err, c.err)
				}
				if n := len(s.signed); n != c.tries || len(slices.Compact(s.signed)) != n {
					t.Errorf("%d tries, signed at %v; want %d, each signed anew", n, s.signed, c.tries)
				}
			})
		})
	}
}

func TestKeyDocument_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
		defer cancel()
		s := &fakeSSM{answers: []answer{{}}}
		if _, err := s.reader().KeyDocument(ctx, "/agents/a"); !errors.Is(err, errBroken) || len(s.signed) != 1 {
			t.Errorf("%d tries: %v", len(s.signed), err)
		}
	})
}
