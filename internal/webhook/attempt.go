package webhook

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/internal/base/netguard"
	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/webhook/delivery"
)

type attempt struct {
	mu         sync.Mutex
	posts      delivery.PostCount
	pending    []int // positions not delivered, ascending
	open       bool  // the endpoint's circuit must open
	gone       bool  // the endpoint returned 410 Gone
	fails      bool  // too many consecutive failures
	retryAfter time.Duration
	codes      map[string]int // failed messages by code
}

func (r *attempt) note(m pendingMessage, result Result, fails bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if result.Delivered {
		r.posts.Accepted++
		return
	}
	r.posts.Failed++
	r.pending = append(r.pending, m.position)
	r.codes[result.Code]++
	r.fails, r.gone, r.retryAfter = r.fails || fails, r.gone || result.Gone(), max(r.retryAfter, result.RetryAfter)
}

func (r *attempt) refused() bool { return len(r.codes) > 0 }

func (r *attempt) mustStop() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fails || r.gone
}

// countsTowardCircuit reports whether the delivery's failures can open the circuit. They
// cannot if a part was posted: the rest may be invalid for a healthy endpoint.
func countsTowardCircuit(d delivery.Delivery) bool { return len(d.Pending) == 0 }

// postAll posts the messages until the endpoint fails too often or ctx nearly ends.
func (n *Notifier) postAll(ctx context.Context, d delivery.Delivery, e delivery.Endpoint, messages []pendingMessage) *attempt {
	r := &attempt{codes: map[string]int{}}
	l := n.limiters.get(endpointKey{e.Tenant, e.ID})
	starting, cancel := retry.WithMargin(ctx, shutdownMargin)
	defer cancel()
	poster := n.poster()
	var posts sync.WaitGroup
	messages = shuffled(d, messages)
	for i, m := range messages {
		if !l.acquire(starting) {
			r.unsent(messages[i:])
			break
		}
		if r.mustStop() || l.isStopped() {
			l.releaseUnused()
			r.unsent(messages[i:])
			break
		}
		posts.Go(func() {
			result := poster.Post(ctx, e, m.Message)
			r.note(m, result, l.record(result, n.Now(), countsTowardCircuit(d)))
			l.release(result.Delivered)
			if !result.Delivered {
				metrics.Kind(ctx, result.Code, 1)
			}
			n.recordPost(ctx, d, e, m, result)
		})
	}
	posts.Wait()
	n.countPosts(ctx, e, r.posts)
	slices.Sort(r.pending)
	r.open = l.isStopped()
	if r.refused() {
		slog.WarnContext(ctx, "posting webhooks failed", "tenant", e.Tenant, "endpoint_id", e.ID,
			"attempt", d.Attempt, "left", len(r.pending), "codes", r.codes)
	}
	return r
}

func (r *attempt) unsent(messages []pendingMessage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range messages {
		r.pending = append(r.pending, m.position)
	}
}

// shuffled returns the messages of a repeated attempt in random order, so that a few
// messages that always fail do not block the others.
func shuffled(d delivery.Delivery, messages []pendingMessage) []pendingMessage {
	if d.Attempt == 0 {
		return messages
	}
	rand.Shuffle(len(messages), func(i, j int) { messages[i], messages[j] = messages[j], messages[i] }) //nolint:gosec // an order, no secret
	return messages
}

func (n *Notifier) randomIndex(of int) int { return min(int(n.Jitter()*float64(of)), of-1) }

// recordFailure records a failed post. Its own errors are only logged.
func (n *Notifier) recordFailure(
	ctx context.Context, d delivery.Delivery, e delivery.Endpoint, m pendingMessage, result Result, entry []byte, kept bool,
) {
	f := delivery.Failure{
		Tenant: e.Tenant, EndpointID: e.ID, WebhookID: m.ID, Kind: m.Kind, MessageID: m.MessageID,
		Status: result.Status, Code: result.Code, Attempt: d.Attempt, At: result.At, Took: result.Took,
		Task: d.Task(), Blob: d.Blob, Entry: entry, Kept: kept,
	}
	err := n.Endpoints.RecordFailure(ctx, f)
	if err != nil {
		slog.WarnContext(ctx, "recording failed webhook failed", "endpoint_id", e.ID, "error", err)
	}
}

// countPosts adds to the hourly post counts.
func (n *Notifier) countPosts(ctx context.Context, e delivery.Endpoint, p delivery.PostCount) {
	if p == (delivery.PostCount{}) {
		return
	}
	metrics.Add(ctx, metrics.WebhooksAccepted, p.Accepted)
	metrics.Add(ctx, metrics.WebhooksRefused, p.Failed)
	n.Endpoints.CountPosts(e.Tenant, e.ID, n.Now(), p)
}

// retries are the delays between attempts, 75 to 91 hours in total, see retryDelay.
var retries = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour,
	14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// minSweepDelay is the shortest delay handled by sweep alone, which runs once a minute.
// For shorter delays, the task is queued too.
const minSweepDelay = time.Minute

// retryDelay returns the delay after a failed attempt, counted from 0. jitter, in [0, 1),
// adds up to 20%. ok is false after the last attempt.
func retryDelay(attempt int, jitter float64) (delay time.Duration, ok bool) {
	if attempt >= len(retries) {
		return 0, false
	}
	delay = retries[attempt]
	return delay + retry.Jitter(delay/5, jitter), true
}

// disableAfter is how long an endpoint can fail before it is disabled.
const disableAfter = 5 * 24 * time.Hour

// probes is the backoff of the probes of a failing endpoint.
var probes = retry.Backoff{First: 5 * time.Second, Max: 15 * time.Minute}

// probeGap returns the delay after the given number of failed probes. jitter adds up to 20%.
func probeGap(failed int, jitter float64) time.Duration {
	gap := probes.Delay(failed)
	return gap + retry.Jitter(gap/5, jitter)
}

func failureCode(err error) string {
	switch {
	case errors.Is(err, netguard.ErrRefused):
		return "address_refused"
	case errors.Is(err, context.DeadlineExceeded) || os.IsTimeout(err):
		return "timeout"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection_refused"
	case isUnknownHost(err):
		return "unknown_host"
	}
	return certificateCode(err)
}

func isUnknownHost(err error) bool {
	lookup, ok := errors.AsType[*net.DNSError](err)
	return ok && lookup.IsNotFound
}

// certificateCode returns the code of an error about the server's certificate, or no_connection for any other error.
func certificateCode(err error) string {
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "certificate_host"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "certificate_untrusted"
	}
	invalid, ok := errors.AsType[x509.CertificateInvalidError](err)
	switch {
	case ok && invalid.Reason == x509.Expired:
		return "certificate_expired"
	case ok:
		return "certificate_untrusted"
	}
	return "no_connection"
}
