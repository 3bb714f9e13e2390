// Package retry provides backoff between attempts, and deadlines with a margin for
// shutdown.
package retry

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	first   = 20 * time.Millisecond
	longest = time.Second
)

// Wait waits before an attempt, counted from 0, with full jitter and a limit that doubles
// from 20 ms to 1 s. The first attempt does not wait. It returns the error of ctx if ctx
// ends first.
func Wait(ctx context.Context, try int) error {
	if try == 0 {
		return nil
	}
	limit := min(first<<min(try-1, 10), longest)
	timer := time.NewTimer(rand.N(limit)) //nolint:gosec // spreads load, guards nothing
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
