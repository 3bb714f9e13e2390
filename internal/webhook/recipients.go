package webhook

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/payload"
)

const (
	// recipientsFor is how long recipients are taken for what they were: so long a
	// webhook may still name one whose data was erased.
	recipientsFor = 15 * time.Minute
	// maxRecipients bounds the recipients that are kept, in bytes: about 800 batches of
	// 2,000 messages.
	maxRecipients = 64 << 20
	// maxReads is the number of batches that a task reads at once.
	maxReads = 8
	// entrySize is about what a batch takes in memory beside its texts.
	entrySize = 2 << 10
)

// recipient is whom a message goes to.
type recipient struct{ uid, phone string }

// recipients are those of a batch, by frame.
type recipients []frame

// frame is the uids and the phones of a frame, one after the other, and where each of
// them ends. It is the zero frame where the payload is damaged.
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
		texts.WriteString(m.Phone)
		ends = append(ends, uint32(texts.Len())) //nolint:gosec // a frame is shorter
	}
	return frame{strings.Clone(texts.String()), ends}
}

// at returns the recipient of the message at index.
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

// size is about how many bytes the recipients take.
func (r recipients) size() int {
	size := entrySize
	for _, f := range r {
		size += len(f.texts) + 4*len(f.ends)
	}
	return size
}

// directory keeps the recipients of batches. Those that nobody asked for in a while make
// room for others. The zero directory is ready.
type directory struct {
	reads singleflight.Group

	mu         sync.Mutex
	young, old map[campaign.BatchKey]known
	size       int // of the young
}

// known are recipients as they were at a time.
type known struct {
	recipients recipients
	at         time.Time
}

// get returns the recipients of a batch. Whoever asks for them while they are read waits
// for that read.
func (d *directory) get(key campaign.BatchKey, now time.Time, read func() (recipients, error)) (recipients, error) {
	if k, ok := d.peek(key); ok && now.Sub(k.at) < recipientsFor {
		return k.recipients, nil
	}
	found, err, _ := d.reads.Do(key.String(), func() (any, error) {
		r, err := read()
		if err == nil {
			d.put(key, known{r, now})
		}
		return r, err
	})
	r, _ := found.(recipients)
	return r, err
}

func (d *directory) peek(key campaign.BatchKey) (known, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if k, ok := d.young[key]; ok {
		return k, true
	}
	k, ok := d.old[key]
	if ok {
		d.keep(key, k)
	}
	return k, ok
}

func (d *directory) put(key campaign.BatchKey, k known) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.keep(key, k)
}

// keep puts recipients among the young. Once these take half of the room they become the
// old, and the old are forgotten.
func (d *directory) keep(key campaign.BatchKey, k known) {
	if d.young == nil || d.size >= maxRecipients/2 {
		d.young, d.old, d.size = map[campaign.BatchKey]known{}, d.young, 0
	}
	if before, ok := d.young[key]; ok {
		d.size -= before.recipients.size()
	}
	d.young[key] = k
	d.size += k.recipients.size()
}

// addressed is a batch with the recipients of its messages. The error says that they are
// damaged or gone for good.
type addressed struct {
	batch      campaign.Batch
	recipients recipients
	err        error
}

// address reads the batches that the items at the positions belong to, each once. A batch
// that is not the tenant's counts as damaged.
func (n *Notifier) address(ctx context.Context, tenant string, items []item, positions []int) (map[campaign.BatchKey]*addressed, error) {
	batches := map[campaign.BatchKey]*addressed{}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxReads)
	for _, p := range positions {
		key := items[p].key
		if batches[key] != nil {
			continue
		}
		a := &addressed{}
		batches[key] = a
		group.Go(func() error {
			a.batch, a.recipients, a.err = n.addressOf(ctx, tenant, key)
			if a.err != nil && !lost(a.err) {
				return a.err
			}
			return nil
		})
	}
	return batches, group.Wait()
}

func (n *Notifier) addressOf(ctx context.Context, tenant string, key campaign.BatchKey) (campaign.Batch, recipients, error) {
	b, err := n.batch(ctx, key)
	if err == nil && b.Tenant != tenant {
		err = fmt.Errorf("batch %s is not of tenant %s: %w", key, tenant, campaign.ErrDamaged)
	}
	if err != nil {
		return b, nil, err
	}
	r, err := n.recipients(ctx, b)
	return b, r, err
}

// recipients returns those of a batch. What is not kept is read in one piece.
func (n *Notifier) recipients(ctx context.Context, b campaign.Batch) (recipients, error) {
	return n.directory.get(b.Key, n.Now(), func() (r recipients, err error) {
		err = payload.OfLatest(ctx, n.reread, n.Blobs, b, func(b campaign.Batch) (err error) {
			r, err = n.read(ctx, b)
			return err
		})
		return r, err
	})
}

// reread reads a batch, and keeps it as it is now.
func (n *Notifier) reread(ctx context.Context, ref campaign.BatchRef) (campaign.Batch, error) {
	b, err := n.Store.Batch(ctx, ref)
	if err == nil {
		n.batches.Put(b.Key, b, n.Now(), maxBatches)
	}
	return b, err
}

// read reads the recipients of a batch. Frames that are damaged are left out.
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
