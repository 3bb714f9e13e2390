package retry

import (
	"context"
	"time"
)

// Before returns a context that ends that long before ctx does, or with it where
// ctx has no deadline.
func Before(ctx context.Context, reserve time.Duration) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, end.Add(-reserve))
}
