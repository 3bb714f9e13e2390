package retry

import (
	"context"
	"time"
)

// WithMargin returns a context that ends that long before ctx does, or with it where
// ctx has no deadline.
func WithMargin(ctx context.Context, reserve time.Duration) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, end.Add(-reserve))
}
