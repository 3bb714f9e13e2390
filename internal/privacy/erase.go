package privacy

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/exports/export"
)

// Erased counts what an erasure erased.
type Erased struct {
	Messages    int // of accepted batches; counts do not change
	Rejected    int // lines of error files
	Answers     int // rejected numbers in stored answers of idempotency keys
	Uploads     int // campaign files that waited in the dashboard, and parts that are not accepted any more
	Exports     int // exports of campaigns with the number
	Posts       int // webhooks kept with the endpoint's answer
	Events      int // replies, opt-outs and opt-ins, received and forwarded
	Replies     int // texts that the dashboard shows
	Logged      int // entries of the log of opt-outs
	TestNumbers int // 1 if the number was a saved one for tests
	OptIn       bool
	Remains     int // orphaned payloads of failed calls
	// Young is the number of orphaned payloads kept until YoungUntil, in case a
	// restored table refers to them. They may contain anybody's data.
	Young      int
	YoungUntil time.Time
	// OptedOut reports that the number is opted out. The opt-out is kept, because it is needed to honor it.
	OptedOut bool
	// Early is the number of kept events: recent ones, and opt-outs and opt-ins that are not recorded yet. Repeat the erasure at Again.
	Early int
	Again time.Time
}

// Nothing reports whether nothing was found.
func (e Erased) Nothing() bool {
	e.OptedOut = false
	return e == Erased{}
}

// erasure sums up erasures that run concurrently.
type erasure struct {
	*person
	began time.Time
	mu    sync.Mutex
	done  Erased
	live  map[string]bool // payloads of batches
}

// add changes the sums of a step that visits concurrently.
func (e *erasure) add(f func(*Erased)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f(&e.done)
}

// Erase erases the tenant's data about a number and its messages, except its opt-out.
// Messages that are not sent yet will end as failed. After an error, some data may
// remain; a repeated call erases the rest.
func (d *Service) Erase(ctx context.Context, tenant, phone string) (Erased, error) {
	p, err := d.open(ctx, tenant, phone)
	if err != nil {
		return Erased{}, err
	}
	e := &erasure{person: p, live: map[string]bool{}, began: p.Now()}
	var found errorCollector
	for _, step := range []func(context.Context) error{ // uploads first: they become campaigns; and after the exports, which become uploads
		e.eraseUploads, e.eraseFirstLines, e.eraseCampaigns, e.eraseUploads, e.eraseFirstLines, e.deleteOrphanedPayloads,
		e.eraseAnswers, e.erasePosts, e.eraseEvents, e.eraseReplies, e.eraseLogged, e.eraseTestNumbers, e.eraseOptIn,
	} {
		found.add(step(ctx))
	}
	if err := found.err(); err != nil {
		return e.done, fmt.Errorf("the erasure is incomplete, run it again: %w", err)
	}
	return e.done, nil
}

// Complete reports whether nothing remains to be erased later.
func (e Erased) Complete() bool { return e.Early == 0 && e.Young == 0 }

func (e *erasure) eraseCampaigns(ctx context.Context) error {
	return e.eachCampaign(ctx, func(ctx context.Context, c dispatched) error {
		var found errorCollector
		for _, b := range c.Batches {
			found.add(e.eraseErrorFile(ctx, b.Batch))
			found.add(e.eraseBatch(ctx, c, b.Batch))
		}
		for _, ordinal := range c.ended() {
			found.add(e.eraseNumber(ctx, c, ordinal))
		}
		return found.err()
	})
}

// eraseBatch erases the person's messages of a batch. It removes the number from the
// batch's set last, so that a repeated erasure finds the batch.
func (e *erasure) eraseBatch(ctx context.Context, c dispatched, b campaign.Batch) error {
	_, in, err := e.in(c.sets[b.Ordinal])
	if err != nil {
		return err
	}
	if in {
		n, latest, err := e.erasePayload(ctx, b)
		e.add(func(done *Erased) { done.Messages += n })
		if err != nil && !errors.Is(err, campaign.ErrNotFound) { // the batch may have expired
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

// eraseNumber deletes the campaign's exports and removes the person's number from a batch's
// set. A process that has cached the set may still refuse the number in another batch.
func (e *erasure) eraseNumber(ctx context.Context, c dispatched, ordinal int) error {
	for {
		without, in, err := e.in(c.sets[ordinal])
		if err != nil || !in {
			return err
		}
		if err := e.deleteExports(ctx, c.ID); err != nil {
			return err
		}
		replaced, err := e.Store.Erasure.ReplaceSet(ctx, c.ID, c.sets[ordinal], without.Pack())
		if err != nil || replaced {
			return err
		}
		if c, err = e.read(ctx, c.ID); err != nil {
			return err
		}
	}
}

func (e *erasure) eraseAnswers(ctx context.Context) error {
	return e.eachAnswer(ctx, func(about []Answer, erase func() error) error {
		return counted(erase(), &e.done.Answers, len(about))
	})
}

func (e *erasure) eraseUploads(ctx context.Context) error {
	return e.eachUpload(ctx, func(key string, _ []string) error {
		return counted(e.eraseUpload(ctx, key), &e.done.Uploads, 1)
	})
}

// eraseUpload deletes a file, or the person's lines from a part of a file: its other messages are
// about to be sent, or stand in the exports of the campaign.
func (e *erasure) eraseUpload(ctx context.Context, key string) error {
	if !isPart(key) {
		return e.Blobs.Delete(ctx, key)
	}
	id := campaign.ID{Tenant: e.tenant.ID, CampaignID: e.campaignOf(key)}
	if err := e.deleteExports(ctx, id); err != nil {
		return err
	}
	err := e.Blobs.Change(ctx, key, "application/x-ndjson", e.withoutPerson)
	if err != nil {
		return campaign.IgnoreNotFound(err) // sent meanwhile
	}
	return e.deleteExports(ctx, id) // one may have read the part meanwhile
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
			if h.content.Pending { // its content is written again when it is recorded
				h.At = e.Now()
			}
			done.Again = campaign.Later(done.Again, h.At.Add(appliedAfter))
		})
		return nil
	})
}

// eraseReplies deletes the replies after the events that they were read from, so that a
// repeated event stores none again.
func (e *erasure) eraseReplies(ctx context.Context) (err error) {
	e.done.Replies, err = e.Store.Outcomes.DeleteReplies(ctx, e.tenant.ID, e.phones)
	return err
}

// eraseLogged erases the number from the log of opt-outs after the events that it was read from, so that a repeated
// event does not write it again.
func (e *erasure) eraseLogged(ctx context.Context) (err error) {
	e.done.Logged, err = e.Store.Outcomes.EraseLoggedOptOuts(ctx, e.tenant.ID, e.phones)
	return err
}

func (e *erasure) eraseOptIn(ctx context.Context) error {
	for _, phone := range e.phones {
		erased, err := e.OptOuts.EraseOptIn(ctx, e.tenant.ID, phone)
		if e.done.OptIn = e.done.OptIn || erased; err != nil {
			return err
		}
	}
	out, _, err := e.OptOuts.FirstOut(ctx, e.tenant.ID, e.phones)
	e.done.OptedOut = out != ""
	return err
}

// deleteExports deletes the export files of a campaign, which may contain anybody's number.
// An export that is being written ends: it may have read the number already.
func (e *erasure) deleteExports(ctx context.Context, id campaign.ID) error {
	all, err := e.Store.Erasure.Exports(ctx, id)
	if err != nil {
		return fmt.Errorf("delete exports: %w", err)
	}
	for _, x := range all {
		if err := e.deleteExport(ctx, x); err != nil {
			return fmt.Errorf("delete exports: %w", err)
		}
	}
	return nil
}

// deleteExport marks an export before its files are deleted, so that no link leads to them
// and no function completes it. A repeated call deletes what is left.
func (e *erasure) deleteExport(ctx context.Context, x export.Export) error {
	for x.State != export.Deleted {
		next := x
		next.State = export.Deleted
		_, err := e.Store.Erasure.SaveExport(ctx, next)
		if err == nil {
			e.add(func(done *Erased) { done.Exports++ })
			break
		}
		if !errors.Is(err, campaign.ErrLostRace) { // its function made progress
			return err
		}
		if x, err = e.Store.Erasure.Export(ctx, x.ExportID); err != nil {
			return err
		}
	}
	if x.Upload != "" {
		if err := e.Blobs.AbortFile(ctx, x.Blob(), x.Upload); err != nil {
			return err
		}
	}
	for o, err := range e.Blobs.List(ctx, x.Blob()) {
		if err != nil {
			return err
		}
		if err := e.Blobs.Delete(ctx, o.Key); err != nil {
			return err
		}
	}
	return nil
}
