package payload_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/payload"
)

type blobs map[string][]byte

func (b blobs) GetRange(_ context.Context, key string, from, to int) ([]byte, error) {
	content, there := b[key]
	if !there {
		return nil, campaign.ErrNotFound
	}
	return content[min(from, len(content)):min(to, len(content))], nil
}

// replace gives the batch another payload without one of its messages, as an erasure does.
func (b blobs) replace(t *testing.T, batch campaign.Batch, index int, random string) campaign.Batch {
	t.Helper()
	all, err := payload.ReadAll(t.Context(), b, batch)
	if err != nil {
		t.Fatal(err)
	}
	var w payload.Writer
	for i, m := range all {
		if i == index {
			m = campaign.Message{}
		}
		w.AddMessage(m)
	}
	batch.FormerPayload, batch.Payload = batch.Payload, payload.SuccessorKey(batch.Payload, random)
	b[batch.Payload], batch.Offsets = w.Finish()
	key, content := payload.Pointer(batch)
	b[key] = content
	delete(b, batch.FormerPayload)
	return batch
}

func newBatch(b blobs) campaign.Batch {
	var w payload.Writer
	for i := range uint64(250) {
		w.Add(5511900000000+i, []byte("uid"), nil)
	}
	batch := campaign.Batch{Payload: "payloads/acme/c/one", Accepted: 250}
	b[batch.Payload], batch.Offsets = w.Finish()
	return batch
}

// A row restored to a time before two erasures leads to the current messages.
func TestOfLatest_RestoredBatch(t *testing.T) {
	t.Parallel()
	b := blobs{}
	first := newBatch(b)
	second := b.replace(t, first, 3, "r1")
	third := b.replace(t, second, 120, "r2")
	var all []campaign.Message
	same := func(context.Context, campaign.BatchRef) (campaign.Batch, error) { return first, nil }
	err := payload.OfLatest(t.Context(), same, b, first, func(batch campaign.Batch) (err error) {
		all, err = payload.ReadAll(t.Context(), b, batch)
		return err
	})
	if err != nil || len(all) != 250 {
		t.Fatalf("%d messages, %v", len(all), err)
	}
	var erased []int
	for i, m := range all {
		if m.Erased() {
			erased = append(erased, i)
		}
	}
	if diff := cmp.Diff([]int{3, 120}, erased); diff != "" {
		t.Errorf("erased (-want +got):\n%s", diff)
	}
	b["payloads/acme/c/one~left"] = []byte("what an erasure that died left behind")
	for key, want := range map[string]bool{first.Payload: true, second.Payload: true, third.Payload: true, "payloads/acme/c/one~left": false, "payloads/acme/c/two": false} {
		if got, err := payload.Leads(t.Context(), b, first, key); got != want || err != nil {
			t.Errorf("it leads to %s: %v, %v", key, got, err)
		}
	}
}

func TestOfLatest_DeletedPayload(t *testing.T) {
	t.Parallel()
	b := blobs{}
	first := newBatch(b)
	second := b.replace(t, first, 3, "r1")
	delete(b, second.Payload)
	same := func(context.Context, campaign.BatchRef) (campaign.Batch, error) { return first, nil }
	err := payload.OfLatest(t.Context(), same, b, first, func(batch campaign.Batch) error {
		_, err := payload.ReadAll(t.Context(), b, batch)
		return err
	})
	if !errors.Is(err, campaign.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}
