package webhook

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/webhook/delivery"
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
	Answer     delivery.EndpointAnswer
}

// Gone reports whether the endpoint asked for no further webhooks (410).
func (result Result) Gone() bool { return result.Status == http.StatusGone }

// Fatal reports whether other messages would fail too: there is no response, or the
// endpoint asks for a pause.
func (result Result) Fatal() bool {
	return !result.Delivered && (result.Status == 0 || result.RetryAfter > 0)
}

// Post posts a message once. The result contains no address and no content but the answer's.
func (p Poster) Post(ctx context.Context, e delivery.Endpoint, m Message) Result {
	now := p.Now()
	result := p.post(ctx, e, m, now)
	result.Took = p.Now().Sub(now)
	return result
}

func (p Poster) post(ctx context.Context, e delivery.Endpoint, m Message, now time.Time) Result {
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
	answer := readAnswer(response.Body, secretsOf(e, signature))
	if response.StatusCode/100 == 2 {
		return Result{Delivered: true, Status: response.StatusCode, Answer: answer}
	}
	return Result{
		Status: response.StatusCode, Answer: answer, Code: "status_" + strconv.Itoa(response.StatusCode),
		RetryAfter: retry.After(response.Header.Get("Retry-After"), now),
	}
}

// Test posts an endpoint.test webhook once and returns the result.
func (p Poster) Test(ctx context.Context, e delivery.Endpoint) (delivery.PostResult, error) {
	began := p.Now()
	m, err := NewMessage(e.ID+" "+strconv.FormatInt(began.UnixNano(), 10), delivery.KindTest, began, Data{})
	if err != nil {
		return delivery.PostResult{}, fmt.Errorf("encode test webhook: %w", err)
	}
	result := p.Post(ctx, e, m)
	return delivery.PostResult{At: began, Status: result.Status, Code: result.Code, Took: result.Took}, nil
}
