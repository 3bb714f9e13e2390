package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/webhook/netguard"
)

// Timeout is how long an endpoint has for its answer.
const Timeout = 15 * time.Second

// Poster posts webhooks.
type Poster struct {
	// HTTP must follow no redirect, refuse what is not public, and give up on an
	// answer after Timeout.
	HTTP *http.Client
	Now  func() time.Time
}

// Result is what came of a post.
type Result struct {
	Delivered bool
	Status    int    // of the answer, 0 where there was none
	Code      string // why it was not taken, a stable word
	// RetryAfter is for how long the endpoint asks to be left alone.
	RetryAfter time.Duration
}

// Gone reports whether the endpoint wants nothing ever again.
func (v Result) Gone() bool { return v.Status == http.StatusGone }

// Fatal reports whether one such failure speaks for all that would follow: nobody
// answers, or the endpoint asks for a pause.
func (v Result) Fatal() bool { return !v.Delivered && (v.Status == 0 || v.RetryAfter > 0) }

// drained is how much of an answer is read so that its connection can be used
// again.
const drained = 16 << 10

// Post posts a message once. Its result names neither address nor contents.
func (p Poster) Post(ctx context.Context, e campaign.Endpoint, l Message) Result {
	now := p.Now()
	signature, err := sign(e, l.ID, now, l.Body)
	if err != nil {
		return Result{Code: "bad_secret"}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, bytes.NewReader(l.Body))
	if err != nil {
		return Result{Code: "bad_address"}
	}
	request.Header = http.Header{
		"Content-Type": {"application/json"}, "User-Agent": {"campaign-dispatch"},
		// Standard Webhooks writes its names in lower case.
		"Webhook-Id": {l.ID}, "Webhook-Timestamp": {strconv.FormatInt(now.Unix(), 10)}, "Webhook-Signature": {signature},
	}
	response, err := p.HTTP.Do(request)
	if err != nil {
		return Result{Code: failureCode(err)}
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.CopyN(io.Discard, response.Body, drained) // the status has said it all
	if response.StatusCode/100 == 2 {
		return Result{Delivered: true, Status: response.StatusCode}
	}
	return Result{
		Status: response.StatusCode, Code: "status_" + strconv.Itoa(response.StatusCode),
		RetryAfter: retryAfter(response.Header.Get("Retry-After"), now),
	}
}

func failureCode(err error) string {
	switch {
	case errors.Is(err, netguard.ErrRefused):
		return "address_refused"
	case errors.Is(err, context.DeadlineExceeded) || os.IsTimeout(err):
		return "timeout"
	}
	return "no_connection"
}

// longestHold bounds what an endpoint may ask for.
const longestHold = 24 * time.Hour

// retryAfter reads a Retry-After header, in seconds or as a date.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	hold := time.Duration(0)
	if seconds, err := strconv.ParseUint(value, 10, 32); err == nil {
		hold = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		hold = at.Sub(now)
	}
	return min(max(hold, 0), longestHold)
}

// Test posts a webhook that tells of nothing (endpoint.test) to an endpoint once,
// and returns what came of it.
func (p Poster) Test(ctx context.Context, e campaign.Endpoint) (campaign.PostResult, error) {
	began := p.Now()
	l, err := NewMessage(e.ID+" "+strconv.FormatInt(began.UnixNano(), 10), campaign.KindTest, began, Data{})
	if err != nil {
		return campaign.PostResult{}, fmt.Errorf("write a test webhook: %w", err)
	}
	v := p.Post(ctx, e, l)
	return campaign.PostResult{At: began, Status: v.Status, Code: v.Code, Took: p.Now().Sub(began)}, nil
}
