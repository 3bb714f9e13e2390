package datasubject

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/payload"
)

// Erased is what an erasure erased.
type Erased struct {
	Messages int // of accepted batches; their places stay, so that counts do not change
	Rejected int // lines of error files
	Answers  int // rejected numbers in the answers that idempotency keys have
	Uploads  int // whole campaign files that waited in the dashboard
	Events   int // replies, opt-outs and opt-ins, as they came and as they are told
	OptIn    bool
	Remains  int // payloads that belong to no batch: what calls that failed left behind
	// OptedOut says that the number is opted out, which is kept: without it the wish
	// to get no messages could not be granted.
	OptedOut bool
	// Early is how many events came so lately that they may have to be applied still.
	// They are kept: the erasure is to be run again at Again.
	Early int
	Again time.Time
}

// Nothing tells whether there was nothing to erase.
func (e Erased) Nothing() bool {
	e.OptedOut = false
	return e == Erased{}
}

// erasure adds up what is erased by some side by side.
type erasure struct {
	*person
	mu   sync.Mutex
	done Erased
	live map[string]bool // payloads that batches have
}

func (e *erasure) add(f func(*Erased)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f(&e.done)
}

// Erase erases what the service holds of a number of a tenant, and what was said to
// it, except that it opted out. Messages that were not sent yet will end as failed.
// After an error some of it may have been erased; to erase again does the rest.
func (d *Desk) Erase(ctx context.Context, tenant, phone string) (Erased, error) {
	p, err := d.open(ctx, tenant, phone)
	if err != nil {
		return Erased{}, err
	}
	e := &erasure{person: p, live: map[string]bool{}}
	for _, step := range []func(context.Context) error{
		e.eraseCampaigns, e.eraseRemains, e.eraseAnswers, e.eraseUploads, e.eraseEvents, e.eraseOptIn,
	} {
		if err := step(ctx); err != nil {
			return e.done, fmt.Errorf("not all is erased, run it again: %w", err)
		}
	}
	return e.done, nil
}

func (e *erasure) eraseCampaigns(ctx context.Context) error {
	return e.eachCampaign(ctx, func(ctx context.Context, c dispatched) error {
		for _, b := range c.Batches {
			if err := e.eraseBatch(ctx, c, b.Batch); err != nil {
				return err
			}
		}
		return nil
	})
}

// eraseBatch erases the person's messages of a batch, and the number from the batch's
// set last, by which the batch is found again.
func (e *erasure) eraseBatch(ctx context.Context, c dispatched, b campaign.Batch) error {
	lines, err := e.eraseErrorFile(ctx, b)
	if err != nil {
		return err
	}
	e.add(func(done *Erased) { done.Rejected += lines })
	_, in, err := e.in(c.sets[b.Ordinal])
	if err != nil {
		return err
	}
	if in {
		n, latest, err := e.erasePayload(ctx, b)
		e.add(func(done *Erased) { done.Messages += n })
		if err != nil {
			return err
		}
		b = latest
		if err := e.eraseNumber(ctx, c, b.Ordinal); err != nil {
			return err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.live[b.Payload], e.live[b.FormerPayload] = true, true
	return nil
}

// erasePayload gives the batch a payload without the person's messages, of a key of
// its own, and only then deletes the one it had: whoever reads a batch finds the one
// or the other. It returns how many messages it erased, and the batch as it is then.
func (e *erasure) erasePayload(ctx context.Context, b campaign.Batch) (erased int, _ campaign.Batch, err error) {
	for {
		if b, err = e.deleteFormer(ctx, b); err != nil {
			return erased, b, err
		}
		messages, err := payload.ReadAll(ctx, e.Blobs, b)
		gone := errors.Is(err, campaign.ErrNotFound)
		if err != nil && !gone {
			return erased, b, err
		}
		body, offsets, n, err := e.without(messages)
		if err != nil {
			return erased, b, err
		}
		if n == 0 && !gone {
			return erased, b, nil
		}
		replaced := false
		if n > 0 {
			if replaced, err = e.replacePayload(ctx, b, body, offsets); err != nil {
				return erased, b, err
			}
		}
		before := b.Payload
		if b, err = e.Store.Batch(ctx, b.BatchRef); err != nil {
			return erased, b, err
		}
		if replaced {
			erased += n
		} else if gone && b.Payload == before { // its time is over
			return erased, b, nil
		}
	}
}

func (e *erasure) deleteFormer(ctx context.Context, b campaign.Batch) (campaign.Batch, error) {
	if b.FormerPayload == "" {
		return b, nil
	}
	if err := e.Blobs.Delete(ctx, b.FormerPayload); err != nil {
		return b, err
	}
	if err := e.Store.ForgetFormerPayload(ctx, b); err != nil {
		return b, err
	}
	b.FormerPayload = ""
	return b, nil
}

// without returns the payload of the messages without the person's n.
func (e *erasure) without(messages []campaign.Message) (body []byte, offsets []int, n int, err error) {
	var w payload.Writer
	for _, m := range messages {
		if m.Phone == e.number.String() {
			w.AddErased()
			n++
			continue
		}
		if err := w.AddMessage(m); err != nil {
			return nil, nil, 0, err
		}
	}
	body, offsets = w.Finish()
	return body, offsets, n, nil
}

// replacePayload writes a payload and gives it to the batch. It returns false, and
// leaves nothing behind, where the batch is not as it was read any more.
func (e *erasure) replacePayload(ctx context.Context, b campaign.Batch, body []byte, offsets []int) (bool, error) {
	random := make([]byte, 16)
	if _, err := io.ReadFull(e.Random, random); err != nil {
		return false, fmt.Errorf("read random bytes: %w", err)
	}
	key := e.payloads() + b.CampaignID + "/" + base64.RawURLEncoding.EncodeToString(random)
	if err := e.Blobs.Put(ctx, key, body, "application/octet-stream"); err != nil {
		return false, err
	}
	replaced, err := e.Store.ReplacePayload(ctx, b, key, offsets)
	if err == nil && !replaced {
		err = e.Blobs.Delete(ctx, key)
	}
	return replaced, err
}

// payloads begins the keys of the tenant's payloads.
func (p *person) payloads() string { return "payloads/" + p.tenant.ID + "/" }

// eraseNumber removes the person's number from a batch's set. A process that has read
// the set may know the number longer, and refuse it in another batch.
func (e *erasure) eraseNumber(ctx context.Context, c dispatched, ordinal int) error {
	for {
		without, in, err := e.in(c.sets[ordinal])
		if err != nil || !in {
			return err
		}
		replaced, err := e.Store.ReplaceSet(ctx, c.ID, c.sets[ordinal], without.Pack())
		if err != nil || replaced {
			return err
		}
		if c, err = e.read(ctx, c.ID); err != nil {
			return err
		}
	}
}

// remainsAfter is after how long a payload that no batch has will never be one's.
const remainsAfter = time.Hour

// eraseRemains deletes the tenant's payloads that belong to no batch: nobody reads
// them, and nobody can tell whose data they hold.
func (e *erasure) eraseRemains(ctx context.Context) error {
	for o, err := range e.Blobs.List(ctx, e.payloads()) {
		if err != nil {
			return err
		}
		if e.live[o.Key] || e.Now().Sub(o.At) < remainsAfter {
			continue
		}
		live, err := e.isLive(ctx, o.Key)
		if err != nil {
			return err
		}
		if live {
			continue
		}
		if err := e.Blobs.Delete(ctx, o.Key); err != nil {
			return err
		}
		e.done.Remains++
	}
	return nil
}

// isLive tells whether a payload is that of a batch, whatever lists say.
func (e *erasure) isLive(ctx context.Context, key string) (bool, error) {
	campaignID, _, _ := strings.Cut(strings.TrimPrefix(key, e.payloads()), "/")
	c, err := e.Store.Dispatched(ctx, campaign.ID{Tenant: e.tenant.ID, CampaignID: campaignID})
	if errors.Is(err, campaign.ErrNotFound) {
		return false, nil
	}
	return slices.ContainsFunc(c.Batches, func(b campaign.Progress) bool { return b.Payload == key || b.FormerPayload == key }), err
}

func (e *erasure) eraseAnswers(ctx context.Context) error {
	return e.eachAnswer(ctx, func(about []refusal, erase func() error) error {
		err := erase()
		if err == nil {
			e.done.Answers += len(about)
		}
		return err
	})
}

func (e *erasure) eraseUploads(ctx context.Context) error {
	return e.eachUpload(ctx, func(key string, _ []string) error {
		err := e.Blobs.Delete(ctx, key)
		if err == nil {
			e.done.Uploads++
		}
		return err
	})
}

func (e *erasure) eraseEvents(ctx context.Context) error {
	return e.eachEvent(ctx, func(ctx context.Context, h heard) error {
		early, err := e.eraseEvent(ctx, h)
		if err != nil {
			return err
		}
		e.add(func(done *Erased) {
			if !early {
				done.Events++
				return
			}
			done.Early++
			if again := h.At.Add(appliedAfter); again.After(done.Again) {
				done.Again = again
			}
		})
		return nil
	})
}

func (e *erasure) eraseOptIn(ctx context.Context) (err error) {
	if e.done.OptIn, err = e.OptOuts.Forget(ctx, e.tenant.ID, e.number.String()); err != nil {
		return err
	}
	e.done.OptedOut, _, err = e.OptOuts.Since(ctx, e.tenant.ID, e.number.String())
	return err
}
