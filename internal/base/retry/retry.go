// Package retry provides backoff between attempts, the Retry-After header, and deadlines
// with a margin for shutdown.
package retry

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Backoff is a delay that doubles from First to Max.
type Backoff struct{ First, Max time.Duration }

// Delay returns the delay after the given number of delays, counted from 0.
func (b Backoff) Delay(after int) time.Duration { return min(b.First<<min(after, 10), b.Max) }

// Jitter returns a delay of up to most. random is in [0, 1).
func Jitter(most time.Duration, random float64) time.Duration {
	return time.Duration(random * float64(most))
}

// conflicts is the backoff of Wait.
var conflicts = Backoff{First: 20 * time.Millisecond, Max: time.Second}

// Wait waits before an attempt, counted from 0, with full jitter and a limit that doubles
// from 20 ms to 1 s. The first attempt does not wait. It returns the error of ctx if ctx
// ends first.
func Wait(ctx context.Context, try int) error {
	if try == 0 {
		return nil
	}
	return Sleep(ctx, Jitter(conflicts.Delay(try-1), rand.Float64())) //nolint:gosec // spreads load, guards nothing
}

// Sleep waits for d. It returns the error of ctx if ctx ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// maxAfter is the maximum accepted Retry-After.
const maxAfter = 24 * time.Hour

// After parses a Retry-After header: seconds or an HTTP date. It returns 0 if the header is
// missing or invalid, and a day at most.
func After(header string, now time.Time) time.Duration {
	header = strings.TrimSpace(header)
	if seconds, err := strconv.ParseUint(header, 10, 32); err == nil {
		return min(time.Duration(seconds)*time.Second, maxAfter)
	}
	if at, err := http.ParseTime(header); err == nil {
		return min(max(at.Sub(now), 0), maxAfter)
	}
	return 0
}

// Header returns a Retry-After header in seconds. It rounds up, so that a client that waits that long is not limited again.
func Header(d time.Duration) string { return strconv.Itoa(int((d + time.Second - 1) / time.Second)) }

// WithMargin returns a context that ends reserve before the deadline of ctx. Without a deadline, it ends with ctx.
func WithMargin(ctx context.Context, reserve time.Duration) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, end.Add(-reserve))
}
