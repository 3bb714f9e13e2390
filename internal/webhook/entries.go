package webhook

import (
	"context"
	"encoding/base64"
	"fmt"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/ledger"
)

// item is an entry of the log of a batch, of which a letter is written.
type item struct {
	key campaign.BatchKey
	ledger.Entry
}

// items returns the entries that a notice is about: its own, or those of its page.
func (n *Notifier) items(ctx context.Context, notice campaign.Notice) (items []item, err error) {
	if notice.ID != "" {
		return unpack(notice.Entries)
	}
	page, err := n.Store.LogPage(ctx, notice.Key, notice.Ordinal)
	if err != nil {
		return nil, err
	}
	for _, entry := range ledger.Numbered(page.First, page.Changes) {
		items = append(items, item{notice.Key, entry})
	}
	return items, nil
}

func unpack(entries []byte) (items []item, err error) {
	fresh, err := ledger.UnpackFresh(entries)
	if err != nil {
		return nil, fmt.Errorf("read the entries of a notice: %w", err)
	}
	for _, f := range fresh {
		for _, entry := range f.Entries {
			items = append(items, item{f.Key, entry})
		}
	}
	return items, nil
}

// pick returns those of a notice's entries that have the positions, nil of one that has
// none. The positions ascend.
func pick(notice campaign.Notice, positions []int) []byte {
	items, err := unpack(notice.Entries)
	if err != nil {
		return nil
	}
	var fresh []ledger.Fresh
	for _, p := range positions {
		if p >= len(items) {
			break
		}
		i := items[p]
		if last := len(fresh) - 1; last < 0 || fresh[last].Key != i.key {
			fresh = append(fresh, ledger.Fresh{Key: i.key})
		}
		last := &fresh[len(fresh)-1]
		last.Entries = append(last.Entries, i.Entry)
	}
	return ledger.PackFresh(fresh)
}

// newNotice returns the notice of a task that holds entries. It has no row.
func (n *Notifier) newNotice(t campaign.NotifyTask) (campaign.Notice, error) {
	entries, err := base64.StdEncoding.DecodeString(t.Entries)
	if err != nil {
		return campaign.Notice{}, fmt.Errorf("read the entries of a task: %w", err)
	}
	if _, err := unpack(entries); err != nil {
		return campaign.Notice{}, err
	}
	notice := campaign.Notice{
		Tenant: t.Tenant, EndpointID: t.EndpointID, Entries: entries, New: true, Ends: n.Now().Add(campaign.Retention),
	}
	return notice.Identified(), nil
}

// save replaces the notice that was read by the next one, and reports whether it was
// still as it was read. The row of one that is new holds only what is left.
func (n *Notifier) save(ctx context.Context, read, next campaign.Notice) (bool, error) {
	if read.New && len(next.Left) > 0 {
		next.Entries, next.Left = pick(next, next.Left), upTo(len(next.Left))
	}
	return n.Store.SaveNotice(ctx, read, next)
}

// upTo returns the positions from 0 up to, not including, n.
func upTo(n int) []int {
	positions := make([]int, n)
	for i := range positions {
		positions[i] = i
	}
	return positions
}

// remove deletes the row of a notice of which nothing is owed any more.
func (n *Notifier) remove(ctx context.Context, notice campaign.Notice) error {
	if notice.New {
		return nil
	}
	return n.Store.DeleteNotice(ctx, notice.Task())
}

// buryApart writes a dead notice of some of a notice's entries.
func (n *Notifier) buryApart(ctx context.Context, notice campaign.Notice, positions []int) error {
	part := campaign.Notice{
		Tenant: notice.Tenant, EndpointID: notice.EndpointID, Entries: pick(notice, positions), New: true, Ends: notice.Ends,
	}.Identified()
	return n.bury(ctx, part, part)
}
