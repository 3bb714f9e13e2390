package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/hookpost"
	"campaign-dispatch/internal/payload"
	"campaign-dispatch/internal/warm"
)

// letter is one webhook of a notice.
type letter struct {
	hookpost.Letter
	position int // within the page of its notice
}

func newLetter(position int, subject string, kind campaign.Kind, at time.Time, d hookpost.Data) (letter, error) {
	l, err := hookpost.New(subject, kind, at, d)
	return letter{l, position}, err
}

// letters writes what the endpoint is still owed of the notice. Kinds that it
// does not ask for are no part of it.
func (n *Notifier) letters(ctx context.Context, notice campaign.Notice, e campaign.Endpoint) ([]letter, error) {
	if notice.Blob != "" {
		return n.happening(ctx, notice)
	}
	batch, err := n.batch(ctx, notice.Key)
	if err != nil {
		return nil, err
	}
	page, err := n.Store.LogPage(ctx, notice.Key, notice.Ordinal)
	if err != nil {
		return nil, err
	}
	positions := owed(notice, page, e)
	frames, err := n.frames(ctx, batch, page, positions)
	if err != nil {
		return nil, err
	}
	letters := make([]letter, 0, len(positions))
	for _, p := range positions {
		c := page.Changes[p]
		d := hookpost.Data{
			CampaignID: batch.CampaignID, Batch: batch.Name, MessageID: batch.Key.MessageID(c.Index), Sequence: page.First + p,
		}
		if d.UID, d.Phone, err = contact(frames, c.Index); err != nil {
			return nil, err
		}
		d.Erased = d.Phone == ""
		d.Code, d.Reason = c.Why()
		l, err := newLetter(p, d.MessageID, c.Outcome.Kind(), c.At, d)
		if err != nil {
			return nil, fmt.Errorf("write a webhook: %w", err)
		}
		letters = append(letters, l)
	}
	return letters, nil
}

// owed returns the positions within the page that the endpoint is owed still.
func owed(notice campaign.Notice, page campaign.LogPage, e campaign.Endpoint) []int {
	var positions []int
	for p, c := range page.Changes {
		if len(notice.Left) > 0 && !slices.Contains(notice.Left, p) {
			continue
		}
		if e.Wants(c.Outcome.Kind()) {
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
	d := hookpost.Data{CampaignID: h.CampaignID, Phone: h.Phone, MessageID: h.MessageID, Erased: h.Erased}
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
		return nil, fmt.Errorf("write a webhook: %w", err)
	}
	return []letter{l}, nil
}

// trace completes what is known of the message that a happening names.
func (n *Notifier) trace(ctx context.Context, tenant string, d *hookpost.Data) error {
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
	page := campaign.LogPage{Changes: []campaign.Change{{Index: index}}}
	frames, err := n.frames(ctx, batch, page, []int{0})
	if lost(err) {
		return nil // what happened is told without it
	}
	if err != nil {
		return err
	}
	d.CampaignID, d.Batch = batch.CampaignID, batch.Name
	if d.Erased {
		return nil
	}
	d.UID, _, err = contact(frames, index)
	return err
}

// frameKey names a frame of a batch.
type frameKey struct {
	key   campaign.BatchKey
	frame int
}

// recipient is whom a message goes to.
type recipient struct{ uid, phone string }

func contact(frames map[int][]recipient, index int) (uid, phone string, err error) {
	messages := frames[index/campaign.FrameSize]
	if index%campaign.FrameSize >= len(messages) {
		return "", "", fmt.Errorf("read message %d: %w", index, campaign.ErrDamaged)
	}
	m := messages[index%campaign.FrameSize]
	return m.uid, m.phone, nil
}

func (n *Notifier) batch(ctx context.Context, key campaign.BatchKey) (campaign.Batch, error) {
	return n.batches.Get(key, n.Now(), warm.Terms{For: warm.Forever, Most: maxWarm}, func() (campaign.Batch, error) { return n.Store.FindBatch(ctx, key) })
}

// frames returns the recipients of the frames that the positions of the page
// touch. What is not kept is read in one piece.
func (n *Notifier) frames(ctx context.Context, b campaign.Batch, page campaign.LogPage, positions []int) (map[int][]recipient, error) {
	frames, first, last := map[int][]recipient{}, b.Frames(), -1
	for _, p := range positions {
		f := page.Changes[p].Index / campaign.FrameSize
		if f >= b.Frames() || f+1 >= len(b.Offsets) {
			return nil, fmt.Errorf("read frame %d of batch %s: %w", f, b.BatchID, campaign.ErrDamaged)
		}
		if frames[f] != nil {
			continue
		}
		if kept, ok := n.recipients.Peek(frameKey{b.Key, f}, n.Now(), recipientsFor); ok {
			frames[f] = kept
			continue
		}
		first, last = min(first, f), max(last, f)
	}
	if last < 0 {
		return frames, nil
	}
	err := payload.OfLatest(ctx, n.reread, n.Blobs, b, func(b campaign.Batch) error { return n.read(ctx, b, first, last, frames) })
	return frames, err
}

// reread reads a batch, and keeps it as it is now.
func (n *Notifier) reread(ctx context.Context, ref campaign.BatchRef) (campaign.Batch, error) {
	b, err := n.Store.Batch(ctx, ref)
	if err == nil {
		n.batches.Put(b.Key, b, n.Now(), maxWarm)
	}
	return b, err
}

// read reads the recipients of the frames from first to last into frames, and
// keeps them.
func (n *Notifier) read(ctx context.Context, b campaign.Batch, first, last int, frames map[int][]recipient) error {
	start := b.Offsets[first]
	raw, err := n.Blobs.GetRange(ctx, b.Payload, start, b.Offsets[last+1])
	if err != nil {
		return err
	}
	for f := first; f <= last; f++ {
		if len(raw) < b.Offsets[f+1]-start {
			return fmt.Errorf("read frame %d of batch %s: %w", f, b.BatchID, campaign.ErrDamaged)
		}
		if frames[f], err = decode(raw[b.Offsets[f]-start : b.Offsets[f+1]-start]); err != nil {
			return fmt.Errorf("read frame %d of batch %s: %w", f, b.BatchID, err)
		}
		n.recipients.Put(frameKey{b.Key, f}, frames[f], n.Now(), maxWarm)
	}
	return nil
}

func decode(frame []byte) ([]recipient, error) {
	messages, err := payload.Decode(frame)
	if err != nil {
		return nil, err
	}
	recipients := make([]recipient, len(messages))
	for i, m := range messages {
		recipients[i] = recipient{m.UID, m.Phone}
	}
	return recipients, nil
}
