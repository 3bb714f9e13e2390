package send_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/payload"
)

// replacing is a senderFixture whose payload is replaced between the reads of the batch and
// of the payload.
type replacing struct{ *senderFixture }

func (r replacing) GetRange(ctx context.Context, key string, from, to int) ([]byte, error) {
	r.mu.Lock()
	before := r.batch.Payload
	if before == "before" {
		r.batch.Payload = "after"
		var w payload.Writer
		for i := range r.batch.Accepted {
			if i == 3 {
				w.AddErased()
				continue
			}
			w.Add(5511900000000+uint64(i), nil, [][]byte{[]byte(strconv.Itoa(i))})
		}
		r.payload, r.batch.Offsets = w.Finish()
	}
	r.mu.Unlock()
	if key != "after" {
		return nil, fmt.Errorf("get object: %w", campaign.ErrNotFound)
	}
	return r.senderFixture.GetRange(ctx, key, from, to)
}

func TestHandle_ErasedMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newSenderFixture(5)
		g.batch.Payload = "before"
		s := g.sender()
		s.Blobs = replacing{g}
		if errs := s.Handle(t.Context(), g.frames()); errors.Join(errs...) != nil {
			t.Fatal(errs)
		}
		if len(g.sends) != 4 || len(g.queued) > 0 || len(g.outcomes) != 5 {
			t.Fatalf("%d sent, queued %+v, %d recorded", len(g.sends), g.queued, len(g.outcomes))
		}
		for i, got := range g.outcomes {
			erased := got.Outcome == campaign.OutcomeFailed && got.Code == "erased"
			if sent := got.Outcome == campaign.OutcomeSent; sent == (i == 3) || erased != (i == 3) {
				t.Errorf("message %d ended as %+v", i, got)
			}
		}
	})
}
