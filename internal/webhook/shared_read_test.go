package webhook_test

import (
	"context"
	"testing"

	"campaign-dispatch/internal/webhook"
)

// observed are blobs whose reads of payloads are observed.
type observed struct {
	webhook.Blobs
	during func(ctx context.Context)
}

func (o observed) GetRange(ctx context.Context, key string, from, to int) ([]byte, error) {
	o.during(ctx)
	return o.Blobs.GetRange(ctx, key, from, to)
}

// The recipients that several calls wait for are read, also if the call that began the read is cancelled.
func TestHandle_CancelledDuringSharedRead(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 3)
	process, reads := w.notifier(), 0
	first, cancel := context.WithCancel(t.Context())
	defer cancel()
	process.Blobs = observed{w.blobs, func(read context.Context) {
		cancel()
		if reads++; read.Err() != nil {
			t.Error("the read ends with the call that began it")
		}
	}}
	w.record(sent(3)...)
	tasks := w.arrived()
	if errs := process.Handle(first, tasks); len(errs) != 1 || errs[0] == nil {
		t.Errorf("the cancelled call: %v", errs)
	}
	if errs := process.Handle(t.Context(), tasks); len(errs) != 1 || errs[0] != nil || reads != 1 {
		t.Errorf("the other call: %v after %d reads of the payload", errs, reads)
	}
	if got := len(w.receiver.posts); got != 3 {
		t.Errorf("%d webhooks were posted, want 3", got)
	}
}
