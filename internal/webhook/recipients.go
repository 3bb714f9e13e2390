package webhook

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/base/cache"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/payload"
)

const (
	// recipientTTL is the cache TTL of recipients. Webhooks can contain erased personal data for this time.
	recipientTTL = 15 * time.Minute
	// maxRecipients is the size of the recipient cache in bytes: about 800 batches of 2,000 messages.
	maxRecipients = 64 << 20
	maxReads      = 8 // number of batches that a task reads concurrently
	// readTimeout limits the read of a batch's recipients. Tasks share it, so it does not end with one of them.
	readTimeout = 15 * time.Second
	entrySize   = 2 << 10 // approximate memory of a batch without its texts
)

type recipient struct{ uid, phone string }

// recipients are the recipients of a batch, by frame.
type recipients []frame

// frame contains the concatenated UIDs and phone numbers of a frame and the end of each.
// The frame of a damaged payload is the zero frame.
type frame struct {
	texts string
	ends  []uint32
}

func newFrame(messages []campaign.Message) frame {
	var texts strings.Builder
	ends := make([]uint32, 0, 2*len(messages))
	for _, m := range messages {
		texts.WriteString(m.UID)
		ends = append(ends, uint32(texts.Len())) //nolint:gosec // a frame is shorter
		texts.WriteString(m.Phone.String())
		ends = append(ends, uint32(texts.Len())) //nolint:gosec // a frame is shorter
	}
	return frame{strings.Clone(texts.String()), ends}
}

func (r recipients) at(index int) (recipient, error) {
	frame, i := index/campaign.FrameSize, index%campaign.FrameSize
	if frame >= len(r) || 2*i+1 >= len(r[frame].ends) {
		return recipient{}, fmt.Errorf("read message %d: %w", index, campaign.ErrDamaged)
	}
	f, start := r[frame], uint32(0)
	if i > 0 {
		start = f.ends[2*i-1]
	}
	return recipient{uid: f.texts[start:f.ends[2*i]], phone: f.texts[f.ends[2*i]:f.ends[2*i+1]]}, nil
}

func (r recipients) size() int {
	size := entrySize
	for _, f := range r {
		size += len(f.texts) + 4*len(f.ends)
	}
	return size
}

// recipientCache is an LRU-like cache of recipients. The zero recipientCache is ready to use.
type recipientCache struct {
	reads cache.Reads[recipients]

	mu               sync.Mutex
	recent, previous map[campaign.BatchKey]known
	size             int // of recent
}

type known struct {
	recipients recipients
	at         time.Time
}

// get returns the recipients of a batch. Concurrent calls share one read.
func (d *recipientCache) get(
	ctx context.Context, key campaign.BatchKey, now time.Time, read func(context.Context) (recipients, error),
) (recipients, error) {
	if k, ok := d.peek(key); ok && now.Sub(k.at) < recipientTTL {
		return k.recipients, nil
	}
	return d.reads.Do(ctx, key.String(), readTimeout, func(ctx context.Context) (recipients, error) {
		r, err := read(ctx)
		if err == nil {
			d.mu.Lock()
			d.keep(key, known{r, now})
			d.mu.Unlock()
		}
		return r, err
	})
}

func (d *recipientCache) peek(key campaign.BatchKey) (known, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if k, ok := d.recent[key]; ok {
		return k, true
	}
	k, ok := d.previous[key]
	if ok {
		d.keep(key, k)
	}
	return k, ok
}

// keep adds recipients to recent. When recent takes half of the memory, it becomes
// previous, and the former previous entries are dropped.
func (d *recipientCache) keep(key campaign.BatchKey, k known) {
	if d.recent == nil || d.size >= maxRecipients/2 {
		d.recent, d.previous, d.size = map[campaign.BatchKey]known{}, d.recent, 0
	}
	if before, ok := d.recent[key]; ok {
		d.size -= before.recipients.size()
	}
	d.recent[key] = k
	d.size += k.recipients.size()
}

// batchRecipients is a batch with its recipients, or the error if they are damaged or deleted.
type batchRecipients struct {
	batch      campaign.Batch
	recipients recipients
	err        error
}

// loadRecipients reads the batches of the items at the positions, each once. Batches of other tenants count as damaged.
func (n *Notifier) loadRecipients(
	ctx context.Context, tenant string, items []item, positions []int,
) (map[campaign.BatchKey]*batchRecipients, error) {
	batches := map[campaign.BatchKey]*batchRecipients{}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxReads)
	for _, p := range positions {
		key := items[p].key
		if batches[key] != nil {
			continue
		}
		a := &batchRecipients{}
		batches[key] = a
		group.Go(func() error {
			a.batch, a.recipients, a.err = n.loadBatchRecipients(ctx, tenant, key)
			if a.err != nil && !isUnreadable(a.err) {
				return a.err
			}
			return nil
		})
	}
	return batches, group.Wait()
}

func (n *Notifier) loadBatchRecipients(ctx context.Context, tenant string, key campaign.BatchKey) (campaign.Batch, recipients, error) {
	b, err := n.batch(ctx, key)
	if err == nil && b.Tenant != tenant {
		err = fmt.Errorf("batch %s does not belong to tenant %s: %w", key, tenant, campaign.ErrDamaged)
	}
	if err != nil {
		return b, nil, err
	}
	r, err := n.recipients(ctx, b)
	return b, r, err
}

// recipients returns the recipients of a batch. Uncached ones are read with a single request.
func (n *Notifier) recipients(ctx context.Context, b campaign.Batch) (recipients, error) {
	return n.recipientCache.get(ctx, b.Key, n.Now(), func(ctx context.Context) (r recipients, err error) {
		err = payload.OfLatest(ctx, n.reread, n.Blobs, b, func(b campaign.Batch) (err error) {
			r, err = n.read(ctx, b)
			return err
		})
		return r, err
	})
}

// reread reads a batch and updates the cache.
func (n *Notifier) reread(ctx context.Context, ref campaign.BatchRef) (campaign.Batch, error) {
	b, err := n.Store.Batch(ctx, ref)
	if err == nil {
		n.batches.Put(b.Key, b, n.Now(), maxBatches)
	}
	return b, err
}

// read reads the recipients of a batch. Damaged frames are left empty.
func (n *Notifier) read(ctx context.Context, b campaign.Batch) (recipients, error) {
	if len(b.Offsets) != b.Frames()+1 {
		return nil, fmt.Errorf("read the frames of batch %s: %w", b.BatchID, campaign.ErrDamaged)
	}
	raw, err := n.Blobs.GetRange(ctx, b.Payload, 0, b.Offsets[b.Frames()])
	if err != nil {
		return nil, err
	}
	frames := make(recipients, b.Frames())
	for f := range frames {
		if len(raw) < b.Offsets[f+1] {
			break
		}
		messages, err := payload.Decode(raw[b.Offsets[f]:b.Offsets[f+1]])
		if err != nil && !errors.Is(err, campaign.ErrDamaged) {
			return nil, err
		}
		if err == nil {
			frames[f] = newFrame(messages)
		}
	}
	return frames, nil
}
