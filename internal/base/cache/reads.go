package cache

import (
	"context"
	"time"

	"golang.org/x/sync/singleflight"
)

// Reads lets concurrent calls for the same key share one read. The zero Reads is ready to use.
type Reads[V any] struct{ group singleflight.Group }

// Do returns the result of read, or that of a call for the key that is reading. A read goes on for the other calls
// when the context of the one that began it ends, but not for longer than limit.
func (r *Reads[V]) Do(ctx context.Context, key string, limit time.Duration, read func(context.Context) (V, error)) (value V, err error) {
	done := r.group.DoChan(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
		defer cancel()
		return read(ctx)
	})
	select {
	case result := <-done:
		value, _ = result.Val.(V)
		return value, result.Err
	case <-ctx.Done():
		return value, ctx.Err()
	}
}
