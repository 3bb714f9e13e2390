package oauth_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/localstack/stackenv"
)

// cutter delivers requests of one operation and drops a number of their responses after
// the status line.
type cutter struct {
	operation string
	times     atomic.Int32
	last      func() // called when the last response is dropped, if not nil
}

func (c *cutter) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || !strings.HasSuffix(r.Header.Get("X-Amz-Target"), "."+c.operation) {
		return response, err
	}
	left := c.times.Add(-1)
	if left < 0 {
		return response, err
	}
	if left == 0 && c.last != nil {
		c.last()
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	response.Body = io.NopCloser(brokenReader{})
	return response, nil
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// newCutBench returns a bench whose store loses responses.
func newCutBench(t *testing.T, operation string) (*bench, *cutter) {
	t.Helper()
	b, c := newBench(t), &cutter{operation: operation}
	cfg := stackenv.Load(t).AWS()
	cfg.HTTPClient = &http.Client{Transport: c}
	store := dynamo.NewAuthStore(dynamo.Tables{Client: dynamodb.NewFromConfig(cfg), Auth: b.store.Auth, Now: b.clock.Now})
	b.server.Store = store
	return b, c
}

func TestRefresh_RotationAnswerLost(t *testing.T) {
	t.Parallel()
	b, c := newCutBench(t, "TransactWriteItems")
	refresh := b.granted(t, b.login(t))
	c.times.Store(3)
	next := b.granted(t, b.refresh(t, refresh))
	if c.times.Load() >= 0 {
		t.Fatal("no answer was lost")
	}
	refused(t, b.refresh(t, refresh), 401, "invalid_grant")
	b.granted(t, b.refresh(t, next))
}

func TestRefresh_RotationOutcomeUnknown(t *testing.T) {
	t.Parallel()
	b, c := newCutBench(t, "TransactWriteItems")
	refresh := b.granted(t, b.login(t))
	ctx, cancel := context.WithCancel(t.Context())
	c.last = cancel // the request's deadline has passed
	c.times.Store(3)
	r := request(t, form, "grant_type=refresh_token&refresh_token="+refresh)
	a := b.do(t, r.WithContext(ctx))
	refused(t, a, 503, "temporarily_unavailable")
	if a.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	refused(t, b.refresh(t, refresh), 401, "invalid_grant") // the rotation was written: this is a retry
	b.granted(t, b.login(t))
}

// The SDK repeats a conditional write whose answer was lost. The request is counted
// once.
func TestCount_AnswerLost(t *testing.T) {
	t.Parallel()
	b, c := newCutBench(t, "PutItem")
	for range 10 {
		c.times.Store(1)
		b.granted(t, b.login(t))
	}
	refused(t, b.login(t), 429, "too_many_requests")
}
