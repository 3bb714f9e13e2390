package webhook

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"campaign-dispatch/internal/base/cache"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/reach/lists"
	"campaign-dispatch/internal/webhook/delivery"
)

type pendingMessage struct {
	Message
	position int // within the delivery's entries
}

func newMessage(position int, subject string, kind delivery.Kind, at time.Time, d Data) (pendingMessage, error) {
	m, err := NewMessage(subject, kind, at, d)
	if err != nil {
		return pendingMessage{}, fmt.Errorf("encode webhook: %w", err)
	}
	return pendingMessage{m, position}, nil
}

// messages builds the pending messages of the delivery, for the kinds that the endpoint
// wants. It also returns the positions of unreadable entries, if others are readable.
func (n *Notifier) messages(
	ctx context.Context, d delivery.Delivery, e delivery.Endpoint,
) (messages []pendingMessage, unreadable []int, err error) {
	if d.Blob != "" {
		messages, err = n.webhookEvent(ctx, d)
		return messages, nil, err
	}
	items, err := unpack(d.Entries)
	if err != nil {
		return nil, nil, err
	}
	positions := pendingFor(d, items, e)
	batches, err := n.loadRecipients(ctx, d.Tenant, items, positions)
	if err != nil {
		return nil, nil, err
	}
	var cause error
	for _, p := range positions {
		m, err := n.messageOf(ctx, batches[items[p].key], items[p], p)
		if isUnreadable(err) {
			unreadable, cause = append(unreadable, p), err
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		messages = append(messages, m)
	}
	if len(unreadable) > 0 && len(messages) == 0 {
		return nil, nil, cause
	}
	return messages, unreadable, nil
}

func (n *Notifier) messageOf(ctx context.Context, a *batchRecipients, i item, position int) (pendingMessage, error) {
	if a.err != nil {
		return pendingMessage{}, a.err
	}
	to, err := a.recipients.at(i.Index)
	if err != nil {
		return pendingMessage{}, fmt.Errorf("batch %s: %w", a.batch.BatchID, err)
	}
	d := Data{
		CampaignID: a.batch.CampaignID, Batch: a.batch.Name, MessageID: i.key.MessageID(i.Index), Sequence: i.Sequence,
		UID: to.uid, Phone: to.phone, Erased: to.phone == "",
	}
	d.Code, d.Reason = i.Why()
	if d.List, err = n.listName(ctx, a.batch.Tenant, i.List); err != nil {
		return pendingMessage{}, err
	}
	if i.Outcome == campaign.OutcomeTapped {
		if d.Suggestion, err = n.suggestion(ctx, a.batch, i.Change, d.Erased); err != nil {
			return pendingMessage{}, err
		}
	}
	return newMessage(position, delivery.Subject(i.Change, i.key), delivery.KindOf(i.Outcome), i.At, d)
}

// listName returns the name of a tenant's list, "" for number 0. The name of a list never changes.
func (n *Notifier) listName(ctx context.Context, tenant string, number int) (string, error) {
	if number == 0 {
		return "", nil
	}
	return n.lists.Get(listKey{tenant, number}, n.Now(), cache.Options{TTL: cache.Forever, MaxEntries: maxWarm}, func() (string, error) {
		names, err := lists.Names(ctx, tenant, n.Store.Lists)
		return names[number], err
	})
}

func pendingFor(d delivery.Delivery, items []item, e delivery.Endpoint) []int {
	var positions []int
	for p, i := range items {
		if len(d.Pending) > 0 && !slices.Contains(d.Pending, p) {
			continue
		}
		if e.Subscribes(delivery.KindOf(i.Outcome)) {
			positions = append(positions, p)
		}
	}
	return positions
}

func (n *Notifier) webhookEvent(ctx context.Context, row delivery.Delivery) ([]pendingMessage, error) {
	content, err := n.Blobs.Get(ctx, row.Blob)
	if err != nil {
		return nil, err
	}
	var h delivery.Event
	if err := json.Unmarshal(content, &h); err != nil {
		return nil, fmt.Errorf("decode webhook event: %w", campaign.ErrDamaged) // not the cause: it may contain personal data
	}
	d := Data{CampaignID: h.CampaignID, Phone: h.Phone, MessageID: h.MessageID, Erased: h.Erased}
	if row.Kind == delivery.KindReplied {
		d.Text = h.Text
	}
	if err := n.addSourceMessage(ctx, row.Tenant, &d); err != nil {
		return nil, err
	}
	m, err := newMessage(0, cmp.Or(h.EventID, row.Blob), row.Kind, h.At, d)
	if err != nil {
		return nil, err
	}
	return []pendingMessage{m}, nil
}

// addSourceMessage adds the campaign, batch and UID of the message that a webhook event refers to.
func (n *Notifier) addSourceMessage(ctx context.Context, tenant string, d *Data) error {
	key, index, ok := campaign.ParseMessageID(d.MessageID)
	if !ok {
		return nil
	}
	batch, err := n.batch(ctx, key)
	if err != nil || batch.Tenant != tenant || index >= batch.Accepted {
		return campaign.IgnoreNotFound(err)
	}
	recipients, err := n.recipients(ctx, batch)
	if isUnreadable(err) {
		return nil // send the event without them
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
	return n.batches.Get(key, n.Now(), cache.Options{TTL: cache.Forever, MaxEntries: maxBatches}, func() (campaign.Batch, error) {
		return n.Store.FindBatch(ctx, key)
	})
}
