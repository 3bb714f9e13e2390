package webhook_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/payload"
)

// A process with cached recipients posts an erased message without its recipient, and the
// others unchanged.
func TestHandle_ErasedRecipient(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 3)
	process := w.notifier()
	w.record(sent(3)...)
	w.run(time.Minute, process)
	w.erase(1)
	w.advance(w.Now().Add(20 * time.Minute))

	var delivered []campaign.Change
	for i := range 3 {
		delivered = append(delivered, campaign.Change{Index: i, Outcome: campaign.OutcomeDelivered, At: w.Now()})
	}
	w.record(delivered...)
	w.run(time.Minute, process)

	type message struct {
		UID, Phone *string
		Sequence   int
		Erased     bool
	}
	got := map[int]message{}
	for _, p := range w.receiver.posts {
		var l struct{ Data message }
		w.must(json.Unmarshal(p.body, &l))
		got[l.Data.Sequence] = l.Data
	}
	want := map[int]message{}
	for i := range 6 {
		want[i+1] = message{new(fmt.Sprintf("uid-%d", i%3)), new(fmt.Sprintf("+%d", 5511900000000+i%3)), i + 1, false}
	}
	want[5] = message{new(""), new(""), 5, true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("webhooks by their sequence (-want +got):\n%s", diff)
	}
}

// erase gives the batch another payload without one of its messages.
func (w *harness) erase(index int) {
	w.t.Helper()
	ctx := w.t.Context()
	all, err := payload.ReadAll(ctx, w.blobs, w.batch)
	w.must(err)
	var writer payload.Writer
	for i, m := range all {
		if i == index {
			m = campaign.Message{}
		}
		writer.AddMessage(m)
	}
	content, offsets := writer.Finish()
	key := w.batch.Payload + rand.Text()
	w.must(w.blobs.Put(ctx, key, content, "application/octet-stream"))
	replaced, err := w.store.ReplacePayload(ctx, w.batch, key, offsets)
	w.must(err)
	if !replaced {
		w.t.Fatal("the payload was not replaced")
	}
	w.must(w.blobs.Delete(ctx, w.batch.Payload))
}
