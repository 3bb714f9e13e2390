// Package retry spaces repeated tries, and reserves time for a shutdown.
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

// Wait waits before a try, counted from 0, and returns the error of ctx if that
// ends meanwhile. The first try does not wait; each other one waits for a random time
// below a limit that doubles from 20 ms to a second, so that tries which collided
// do not collide again.
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
