package webhook

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/webhook/delivery"
)

// item is a log entry of a batch. A webhook message is built from it.
type item struct {
	key campaign.BatchKey
	ledger.Entry
}

func unpack(entries []byte) (items []item, err error) {
	fresh, err := ledger.UnpackNewEntries(entries)
	if err != nil {
		return nil, fmt.Errorf("decode entries of delivery: %w", err)
	}
	for _, f := range fresh {
		for _, entry := range f.Entries {
			items = append(items, item{f.Key, entry})
		}
	}
	return items, nil
}

// selectEntries returns the delivery's entries at the positions, which ascend. It returns
// nil for a delivery without entries.
func selectEntries(d delivery.Delivery, positions []int) []byte {
	items, err := unpack(d.Entries)
	if err != nil {
		return nil
	}
	var fresh []ledger.NewEntries
	for _, p := range positions {
		if p >= len(items) {
			break
		}
		i := items[p]
		if last := len(fresh) - 1; last < 0 || fresh[last].Key != i.key {
			fresh = append(fresh, ledger.NewEntries{Key: i.key})
		}
		last := &fresh[len(fresh)-1]
		last.Entries = append(last.Entries, i.Entry)
	}
	return ledger.PackNewEntries(fresh)
}

// Awaits reports whether a delivery still has to post a webhook, given by its entry, or by the blob of its event.
func Awaits(d delivery.Delivery, entry []byte, blob string) bool {
	if d.Blob != "" || blob != "" {
		return d.Blob == blob
	}
	items, err := unpack(d.Entries)
	one, errOfOne := unpack(entry)
	if err != nil || errOfOne != nil || len(one) != 1 {
		return false
	}
	p := slices.Index(items, one[0])
	return p >= 0 && (len(d.Pending) == 0 || slices.Contains(d.Pending, p))
}

func (n *Notifier) newDelivery(t delivery.NotifyTask) (delivery.Delivery, error) {
	entries, err := base64.StdEncoding.DecodeString(t.Entries)
	if err != nil {
		return delivery.Delivery{}, fmt.Errorf("decode entries of task: %w", err)
	}
	if _, err := unpack(entries); err != nil {
		return delivery.Delivery{}, err
	}
	d := delivery.Delivery{
		Tenant: t.Tenant, EndpointID: t.EndpointID, Entries: entries, Unsaved: true, ExpiresAt: n.Now().Add(campaign.Retention),
	}
	return d.Identified(), nil
}

// save replaces the delivery by next and reports whether it was unchanged since it was
// read. The row of a new delivery contains only the pending entries.
func (n *Notifier) save(ctx context.Context, read, next delivery.Delivery) (bool, error) {
	if read.Unsaved && len(next.Pending) > 0 {
		next.Entries, next.Pending = selectEntries(next, next.Pending), upTo(len(next.Pending))
	}
	return n.Store.SaveDelivery(ctx, read, next)
}

// upTo returns the positions [0, n).
func upTo(n int) []int {
	positions := make([]int, n)
	for i := range positions {
		positions[i] = i
	}
	return positions
}

func (n *Notifier) remove(ctx context.Context, d delivery.Delivery) error {
	if d.Unsaved {
		return nil
	}
	return n.Store.DeleteDelivery(ctx, d.Task())
}

// markPartDead writes a dead delivery with some entries of a delivery.
func (n *Notifier) markPartDead(ctx context.Context, d delivery.Delivery, positions []int) error {
	part := delivery.Delivery{
		Tenant: d.Tenant, EndpointID: d.EndpointID, Entries: selectEntries(d, positions), Unsaved: true, ExpiresAt: d.ExpiresAt,
	}.Identified()
	return n.markDead(ctx, part, part)
}
