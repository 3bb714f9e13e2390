package cache

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
)

// Reads lets concurrent calls for the same key share one read. The zero Reads is ready to use.
type Reads[V any] struct{ group singleflight.Group }

// Do returns the result of read, or that of a call for the key that is reading. A read goes on for the other calls
// when the context of the one that began it ends, but not for longer than limit. A call that gets another's error reads
// once itself: AWS Lambda stops a process between two invocations, and a read that it stopped fails.
func (r *Reads[V]) Do(ctx context.Context, key string, limit time.Duration, read func(context.Context) (V, error)) (value V, err error) {
	value, own, err := r.do(ctx, key, limit, read)
	if err != nil && !own && ctx.Err() == nil {
		value, _, err = r.do(ctx, key, limit, read)
	}
	return value, err
}

// do is one attempt of Do. own is true if this call began the read.
func (r *Reads[V]) do(ctx context.Context, key string, limit time.Duration, read func(context.Context) (V, error)) (value V, own bool, err error) {
	var began atomic.Bool // another goroutine reads
	done := r.group.DoChan(key, func() (any, error) {
		began.Store(true)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
		defer cancel()
		return read(ctx)
	})
	select {
	case result := <-done:
		value, _ = result.Val.(V)
		return value, began.Load(), result.Err
	case <-ctx.Done():
		return value, began.Load(), ctx.Err()
	}
}
