package cache_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"campaign-dispatch/internal/base/cache"
)

// A call whose context ends does not take the read from the calls that wait for it.
func TestReads_CancelledCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var reads cache.Reads[int]
		count := 0
		read := func(ctx context.Context) (int, error) {
			count++
			select {
			case <-time.After(time.Second):
				return count, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
		first, cancel := context.WithCancel(t.Context())
		var firstErr, secondErr error
		var value int
		go func() { _, firstErr = reads.Do(first, "a", time.Minute, read) }()
		synctest.Wait()
		go func() { value, secondErr = reads.Do(t.Context(), "a", time.Minute, read) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		if !errors.Is(firstErr, context.Canceled) {
			t.Errorf("the cancelled call: %v before the end of the read", firstErr)
		}
		time.Sleep(time.Second) // of the bubble
		synctest.Wait()
		if value != 1 || secondErr != nil || count != 1 {
			t.Errorf("the other call: %d, %v after %d reads", value, secondErr, count)
		}
	})
}

// AWS Lambda stops a process between two invocations. A read that the first one began fails in the second one, which joins
// it: it reads again.
func TestReads_StoppedRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var reads cache.Reads[int]
		stopped := errors.New("connection reset")
		first, cancel := context.WithCancel(t.Context())
		go func() {
			_, _ = reads.Do(first, "a", time.Minute, func(context.Context) (int, error) {
				time.Sleep(time.Second) // of the bubble
				return 0, stopped
			})
		}()
		synctest.Wait()
		cancel()
		synctest.Wait()
		value, err := reads.Do(t.Context(), "a", time.Minute, func(context.Context) (int, error) { return 7, nil })
		if value != 7 || err != nil {
			t.Errorf("the second invocation: %d, %v", value, err)
		}
		count := 0
		if _, err := reads.Do(t.Context(), "a", time.Minute, func(context.Context) (int, error) { count++; return 0, stopped }); !errors.Is(err, stopped) || count != 1 {
			t.Errorf("a read of its own that fails: %v after %d reads", err, count)
		}
	})
}

func TestReads_Limit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var reads cache.Reads[int]
		_, err := reads.Do(t.Context(), "a", time.Minute, func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want the end of the limit", err)
		}
		value, err := reads.Do(t.Context(), "a", time.Minute, func(context.Context) (int, error) { return 7, nil })
		if value != 7 || err != nil {
			t.Errorf("read again: %d, %v", value, err)
		}
	})
}
