package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"campaign-dispatch/internal/base/cache"
	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/httpapi"
)

// Calls counts dispatch calls.
type Calls interface {
	// AddCall counts a call in the tenant's bucket if the bucket is still as read.
	// Otherwise it returns the current bucket.
	AddCall(
		ctx context.Context, tenant string, read acceptance.CallBucket, l acceptance.CallLimit, now time.Time,
	) (current acceptance.CallBucket, counted bool, err error)
}

// Limiter limits the dispatch calls of each tenant's clients.
type Limiter struct {
	Limit acceptance.CallLimit
	Calls Calls
	// Timeout limits the wait for the table.
	Timeout time.Duration

	warned cache.Cache[struct{}, struct{}]
}

const (
	// maxCounts is the maximum number of attempts to count a call. An attempt fails if
	// the bucket's period, 40 ms by default, ended between the read and the write. More
	// than two attempts occur only if the table is slow.
	maxCounts = 5
	// warnEvery is the minimum time between two warnings of a process.
	warnEvery = time.Minute
)

// mustCount reports whether the call counts against its tenant's limit and is not counted
// yet. A call whose token lacks the scope does not count.
func (s *Service) mustCount(c *call) bool {
	return s.Limiter != nil && s.Limiter.Limit.Rate > 0 && c.client != nil && c.client.scopeErr == nil && c.client.waitForCount == nil
}

// limit refuses a client's call if the tenant's bucket was empty when read. A refusal writes
// nothing. Any other call is counted concurrently with its validation, so that the
// limit adds no round trip; client.waitForCount waits for the result. Each call counts once,
// whatever its outcome.
func (s *Service) limit(ctx context.Context, c *call, read acceptance.CallBucket) error {
	if !s.mustCount(c) {
		if c.client.waitForCount == nil {
			c.client.waitForCount = func() error { return nil }
		}
		return nil
	}
	if wait := s.Limiter.Limit.Wait(read, s.Now()); wait > 0 {
		return rateLimited(wait)
	}
	result := make(chan error, 1)
	go func() { result <- s.count(ctx, c.tenant, read) }()
	c.client.waitForCount = sync.OnceValue(func() error { return <-result })
	return nil
}

// count counts the call, or returns a 429 if concurrent calls have emptied the bucket
// since it was read. If counting fails, the call passes.
func (s *Service) count(ctx context.Context, tenant string, bucket acceptance.CallBucket) error {
	ctx, cancel := context.WithTimeout(ctx, s.Limiter.Timeout)
	defer cancel()
	limit := s.Limiter.Limit
	for range maxCounts {
		now := s.Now()
		current, counted, err := s.Limiter.Calls.AddCall(ctx, tenant, bucket, limit, now)
		if err != nil {
			s.passUncounted(ctx, err)
			return nil
		}
		if counted {
			return nil
		}
		// If the table answers late, others may have been counted after now. The call is counted
		// once more then, because the bucket may have room.
		if wait := limit.Wait(current, now); wait > 0 && s.Now().Sub(now) < limit.Refill() {
			return rateLimited(wait)
		}
		bucket = current
	}
	s.passUncounted(ctx, errors.New("update call limit: too many conflicts"))
	return nil
}

func (s *Service) passUncounted(ctx context.Context, failure error) {
	metrics.Add(ctx, metrics.CallsUncounted, 1)
	if _, warned := s.Limiter.warned.Peek(struct{}{}, s.Now(), warnEvery); !warned {
		s.Limiter.warned.Put(struct{}{}, struct{}{}, s.Now(), 1)
		slog.WarnContext(ctx, "call limit not enforced: count failed", "error", failure)
	}
}

func rateLimited(wait time.Duration) *httpapi.Problem {
	return httpapi.RateLimited(wait,
		"The tenant makes more dispatch calls than its limit allows. Retry after the number of seconds in Retry-After.")
}
