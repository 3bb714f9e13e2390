package webhook

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/netguard"
)

// verdict is what came of a post.
type verdict struct {
	taken  bool
	status int    // of the answer, 0 where there was none
	code   string // why it was not taken, a stable word
	// hold is for how long the endpoint asks to be left alone.
	hold time.Duration
}

// gone tells whether the endpoint wants nothing ever again.
func (v verdict) gone() bool { return v.status == http.StatusGone }

// grave tells whether one such failure speaks for all that would follow: nobody
// answers, or the endpoint asks for a pause.
func (v verdict) grave() bool { return !v.taken && (v.status == 0 || v.hold > 0) }

// drained is how much of an answer is read so that its connection can be used
// again.
const drained = 16 << 10

// post posts a letter once. Its verdict names neither address nor contents.
func (n *Notifier) post(ctx context.Context, e campaign.Endpoint, l letter) verdict {
	now := n.Now()
	signature, err := sign(e, l.id, now, l.body)
	if err != nil {
		return verdict{code: "bad_secret"}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, bytes.NewReader(l.body))
	if err != nil {
		return verdict{code: "bad_address"}
	}
	request.Header = http.Header{
		"Content-Type": {"application/json"}, "User-Agent": {"campaign-dispatch"},
		// Standard Webhooks writes its names in lower case.
		"Webhook-Id": {l.id}, "Webhook-Timestamp": {strconv.FormatInt(now.Unix(), 10)}, "Webhook-Signature": {signature},
	}
	response, err := n.HTTP.Do(request)
	if err != nil {
		return verdict{code: failureCode(err)}
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.CopyN(io.Discard, response.Body, drained) // the status has said it all
	if response.StatusCode/100 == 2 {
		return verdict{taken: true, status: response.StatusCode}
	}
	return verdict{
		status: response.StatusCode, code: "status_" + strconv.Itoa(response.StatusCode),
		hold: retryAfter(response.Header.Get("Retry-After"), now),
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
