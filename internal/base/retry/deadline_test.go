package retry_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"campaign-dispatch/internal/base/retry"
)

func TestWithMargin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		call, end := context.WithTimeout(t.Context(), time.Minute)
		defer end()
		began := time.Now()
		ctx, cancel := retry.WithMargin(call, 20*time.Second)
		defer cancel()
		<-ctx.Done()
		if took := time.Since(began); took != 40*time.Second || call.Err() != nil {
			t.Errorf("it ended after %v, want 40s; the call: %v", took, call.Err())
		}
	})
}

func TestWithMargin_NoDeadline(t *testing.T) {
	t.Parallel()
	call, end := context.WithCancel(t.Context())
	ctx, cancel := retry.WithMargin(call, time.Hour)
	defer cancel()
	if ctx.Err() != nil {
		t.Errorf("it has ended: %v", ctx.Err())
	}
	end()
	<-ctx.Done()
}
