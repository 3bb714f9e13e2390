package retry

import (
	"context"
	"time"
)

// WithMargin returns a context that ends reserve before the deadline of ctx. Without a
// deadline, it ends with ctx.
func WithMargin(ctx context.Context, reserve time.Duration) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, end.Add(-reserve))
}
