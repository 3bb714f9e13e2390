package privacy

import (
	"context"
	"errors"
	"strings"
	"time"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/payload"
)

// erasePayload replaces the batch's payload with one without the person's messages,
// under a new key, and then deletes the old one, so that a reader always finds one of
// them. It returns the number of erased messages and the batch as last read. The error
// wraps campaign.ErrNotFound if the batch has expired.
func (e *erasure) erasePayload(ctx context.Context, b campaign.Batch) (erased int, _ campaign.Batch, err error) {
	for {
		if err := e.deleteFormer(ctx, b); err != nil {
			return erased, b, err
		}
		b.FormerPayload = ""
		n, changed, err := e.replace(ctx, b)
		erased += n
		if err != nil || !changed {
			return erased, b, err
		}
		latest, err := e.Store.Campaigns.Batch(ctx, b.BatchRef)
		if err != nil {
			return erased, b, err
		}
		b = latest
	}
}

func (e *erasure) deleteFormer(ctx context.Context, b campaign.Batch) error {
	if b.FormerPayload == "" {
		return nil
	}
	key, content := payload.Pointer(b)
	if err := e.Blobs.Put(ctx, key, content, "application/json"); err != nil {
		return err
	}
	if err := e.Blobs.Delete(ctx, b.FormerPayload); err != nil {
		return err
	}
	return e.Store.Erasure.ClearFormerPayload(ctx, b)
}

// replace gives the batch a payload without the person's n messages. changed reports
// that the batch may have changed since it was read.
func (e *erasure) replace(ctx context.Context, b campaign.Batch) (n int, changed bool, err error) {
	messages, err := payload.ReadAll(ctx, e.Blobs, b)
	if errors.Is(err, campaign.ErrNotFound) {
		changed, err = e.succeed(ctx, b)
		return 0, changed, err
	}
	if err != nil {
		return 0, false, err
	}
	body, offsets, n := e.without(messages)
	if n == 0 {
		return 0, false, nil
	}
	replaced, err := e.replacePayload(ctx, b, body, offsets)
	if !replaced {
		n = 0
	}
	return n, true, err
}

// succeed gives a batch the successor of its missing payload: the batch's row may come
// from a restored table. changed reports that the batch has another payload now.
func (e *erasure) succeed(ctx context.Context, b campaign.Batch) (changed bool, err error) {
	next, err := payload.Successor(ctx, e.Blobs, b)
	if err == nil {
		_, err = e.Store.Erasure.ReplacePayload(ctx, b, next.Payload, next.Offsets)
		return true, err
	}
	if !errors.Is(err, campaign.ErrNotFound) {
		return false, err
	}
	latest, err := e.Store.Campaigns.Batch(ctx, b.BatchRef)
	return latest.Payload != b.Payload, err
}

// without returns a payload without the person's n messages.
func (e *erasure) without(messages []campaign.Message) (body []byte, offsets []int, n int) {
	var w payload.Writer
	for _, m := range messages {
		if e.sought.Is(m.Phone) {
			w.AddErased()
			n++
			continue
		}
		w.AddMessage(m)
	}
	body, offsets = w.Finish()
	return body, offsets, n
}

// replacePayload writes a payload and assigns it to the batch. If the batch has changed
// since it was read, it deletes the new payload and returns false.
func (e *erasure) replacePayload(ctx context.Context, b campaign.Batch, body []byte, offsets []int) (bool, error) {
	key := payload.SuccessorKey(b.Payload, random.Token(16))
	if err := e.Blobs.Put(ctx, key, body, "application/octet-stream"); err != nil {
		return false, err
	}
	replaced, err := e.Store.Erasure.ReplacePayload(ctx, b, key, offsets)
	if err == nil && !replaced {
		err = e.Blobs.Delete(ctx, key)
	}
	return replaced, err
}

// backups is the period for which a table can be restored. A restored table may refer
// to a payload that no batch refers to now.
const backups = 35 * 24 * time.Hour

func (p *person) payloads() string { return "payloads/" + p.tenant.ID + "/" }

// deleteOrphanedPayloads deletes the tenant's payloads that no batch refers to. They may contain anybody's data.
func (e *erasure) deleteOrphanedPayloads(ctx context.Context) error {
	var found errorCollector
	for o, err := range e.Blobs.List(ctx, e.payloads()) {
		if err != nil {
			return err
		}
		if e.live[o.Key] || payload.IsPointer(o.Key) || o.At.After(e.began) {
			continue
		}
		found.add(e.eraseRemain(ctx, o))
	}
	return found.err()
}

func (e *erasure) eraseRemain(ctx context.Context, o campaign.Blob) error {
	live, err := e.isLive(ctx, o.Key)
	if err != nil || live {
		return err
	}
	if until := o.At.Add(backups); until.After(e.began) {
		e.done.Young++
		e.done.YoungUntil = campaign.Later(e.done.YoungUntil, until)
		return nil
	}
	return counted(e.Blobs.Delete(ctx, o.Key), &e.done.Remains, 1)
}

// isLive reports whether a batch refers to a payload, by a consistent read.
func (e *erasure) isLive(ctx context.Context, key string) (bool, error) {
	campaignID, _, _ := strings.Cut(strings.TrimPrefix(key, e.payloads()), "/")
	c, err := e.Store.Campaigns.Dispatched(ctx, campaign.ID{Tenant: e.tenant.ID, CampaignID: campaignID})
	if err != nil {
		return false, campaign.IgnoreNotFound(err)
	}
	for _, b := range c.Batches {
		if live, err := payload.Leads(ctx, e.Blobs, b.Batch, key); err != nil || live {
			return live, err
		}
	}
	return false, nil
}
