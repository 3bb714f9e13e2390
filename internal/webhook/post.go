package webhook

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/retry"
)

// Timeout is the maximum duration of a post.
const Timeout = 15 * time.Second

// Poster posts webhooks.
type Poster struct {
	// HTTP must refuse redirects and non-public addresses and enforce Timeout.
	HTTP *http.Client
	Now  func() time.Time
}

// Result is the result of a post.
type Result struct {
	Delivered bool
	Status    int    // HTTP status, 0 without a response
	Code      string // stable error code
	// RetryAfter is the endpoint's Retry-After.
	RetryAfter time.Duration
	Took       time.Duration
}

// Gone reports whether the endpoint asked for no further webhooks (410).
func (result Result) Gone() bool { return result.Status == http.StatusGone }

// Fatal reports whether other messages would fail too: there is no response, or the
// endpoint asks for a pause.
func (result Result) Fatal() bool {
	return !result.Delivered && (result.Status == 0 || result.RetryAfter > 0)
}

// maxDrainBytes is the number of response bytes read to keep the connection reusable.
const maxDrainBytes = 16 << 10

// Post posts a message once. The result contains no address and no content.
func (p Poster) Post(ctx context.Context, e campaign.Endpoint, m Message) Result {
	now := p.Now()
	result := p.post(ctx, e, m, now)
	result.Took = p.Now().Sub(now)
	return result
}

func (p Poster) post(ctx context.Context, e campaign.Endpoint, m Message, now time.Time) Result {
	signature, err := sign(e, m.ID, now, m.Body)
	if err != nil {
		return Result{Code: "bad_secret"}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, bytes.NewReader(m.Body))
	if err != nil {
		return Result{Code: "bad_address"}
	}
	request.Header = http.Header{
		"Content-Type": {"application/json"}, "User-Agent": {"campaign-dispatch"},
		// Standard Webhooks header names are lower case.
		"Webhook-Id": {m.ID}, "Webhook-Timestamp": {strconv.FormatInt(now.Unix(), 10)}, "Webhook-Signature": {signature},
	}
	response, err := p.HTTP.Do(request)
	if err != nil {
		return Result{Code: failureCode(err)}
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.CopyN(io.Discard, response.Body, maxDrainBytes) // only the status matters
	if response.StatusCode/100 == 2 {
		return Result{Delivered: true, Status: response.StatusCode}
	}
	return Result{
		Status: response.StatusCode, Code: "status_" + strconv.Itoa(response.StatusCode),
		RetryAfter: retry.After(response.Header.Get("Retry-After"), now),
	}
}

// Test posts an endpoint.test webhook once and returns the result.
func (p Poster) Test(ctx context.Context, e campaign.Endpoint) (campaign.PostResult, error) {
	began := p.Now()
	m, err := NewMessage(e.ID+" "+strconv.FormatInt(began.UnixNano(), 10), campaign.KindTest, began, Data{})
	if err != nil {
		return campaign.PostResult{}, fmt.Errorf("encode test webhook: %w", err)
	}
	result := p.Post(ctx, e, m)
	return campaign.PostResult{At: began, Status: result.Status, Code: result.Code, Took: result.Took}, nil
}
