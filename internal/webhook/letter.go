package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"campaign-dispatch/internal/cache"
	"campaign-dispatch/internal/campaign"
)

// letter is one webhook of a notice.
type letter struct {
	Letter
	position int // within the page or the entries of its notice
}

func newLetter(position int, subject string, kind campaign.Kind, at time.Time, d Data) (letter, error) {
	l, err := New(subject, kind, at, d)
	if err != nil {
		return letter{}, fmt.Errorf("write a webhook: %w", err)
	}
	return letter{l, position}, nil
}

// letters writes what the endpoint is still owed of the notice. Kinds that it does not
// ask for are no part of it. Entries that cannot be read for good are returned by their
// positions, where others can.
func (n *Notifier) letters(ctx context.Context, notice campaign.Notice, e campaign.Endpoint) (letters []letter, unreadable []int, err error) {
	if notice.Blob != "" {
		letters, err = n.happening(ctx, notice)
		return letters, nil, err
	}
	items, err := n.items(ctx, notice)
	if err != nil {
		return nil, nil, err
	}
	positions := owed(notice, items, e)
	batches, err := n.address(ctx, notice.Tenant, items, positions)
	if err != nil {
		return nil, nil, err
	}
	var cause error
	for _, p := range positions {
		l, err := letterOf(batches[items[p].key], items[p], p)
		if lost(err) {
			unreadable, cause = append(unreadable, p), err
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		letters = append(letters, l)
	}
	if len(unreadable) > 0 && (len(letters) == 0 || notice.ID == "") {
		return nil, nil, cause
	}
	return letters, unreadable, nil
}

func letterOf(a *addressed, i item, position int) (letter, error) {
	if a.err != nil {
		return letter{}, a.err
	}
	to, err := a.recipients.at(i.Index)
	if err != nil {
		return letter{}, fmt.Errorf("batch %s: %w", a.batch.BatchID, err)
	}
	d := Data{
		CampaignID: a.batch.CampaignID, Batch: a.batch.Name, MessageID: i.key.MessageID(i.Index), Sequence: i.Sequence,
		UID: to.uid, Phone: to.phone, Erased: to.phone == "",
	}
	d.Code, d.Reason = i.Why()
	return newLetter(position, d.MessageID, i.Outcome.Kind(), i.At, d)
}

// owed returns the positions of the items that the endpoint is owed still.
func owed(notice campaign.Notice, items []item, e campaign.Endpoint) []int {
	var positions []int
	for p, i := range items {
		if len(notice.Left) > 0 && !slices.Contains(notice.Left, p) {
			continue
		}
		if e.Wants(i.Outcome.Kind()) {
			positions = append(positions, p)
		}
	}
	return positions
}

// happening writes the one letter of a notice that belongs to no page of a log.
func (n *Notifier) happening(ctx context.Context, notice campaign.Notice) ([]letter, error) {
	content, err := n.Blobs.Get(ctx, notice.Blob)
	if err != nil {
		return nil, err
	}
	var h campaign.Happening
	if err := json.Unmarshal(content, &h); err != nil {
		return nil, fmt.Errorf("read what happened: %w", campaign.ErrDamaged) // the cause may quote it
	}
	d := Data{CampaignID: h.CampaignID, Phone: h.Phone, MessageID: h.MessageID, Erased: h.Erased}
	if notice.Kind == campaign.KindReplied {
		d.Text = h.Text
	}
	if err := n.trace(ctx, notice.Tenant, &d); err != nil {
		return nil, err
	}
	subject := h.EventID
	if subject == "" {
		subject = notice.Blob
	}
	l, err := newLetter(0, subject, notice.Kind, h.At, d)
	if err != nil {
		return nil, err
	}
	return []letter{l}, nil
}

// trace completes what is known of the message that a happening names.
func (n *Notifier) trace(ctx context.Context, tenant string, d *Data) error {
	key, index, ok := campaign.ParseMessageID(d.MessageID)
	if !ok {
		return nil
	}
	batch, err := n.batch(ctx, key)
	if errors.Is(err, campaign.ErrNotFound) || err == nil && (batch.Tenant != tenant || index >= batch.Accepted) {
		return nil
	}
	if err != nil {
		return err
	}
	recipients, err := n.recipients(ctx, batch)
	if lost(err) {
		return nil // what happened is told without it
	}
	if err != nil {
		return err
	}
	d.CampaignID, d.Batch = batch.CampaignID, batch.Name
	if to, err := recipients.at(index); err == nil && !d.Erased {
		d.UID = to.uid
	}
	return nil
}

func (n *Notifier) batch(ctx context.Context, key campaign.BatchKey) (campaign.Batch, error) {
	return n.batches.Get(key, n.Now(), cache.Terms{For: cache.Forever, Most: maxBatches}, func() (campaign.Batch, error) { return n.Store.FindBatch(ctx, key) })
}
