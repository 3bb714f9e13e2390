package sweep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/send/outgoing"
)

// subjects are pauses that ended lately: "all", "tenant#id", "agent#id" or campaign.PauseSubject.
type subjects []string

// of reports whether one of the pauses was a batch's.
func (s subjects) of(b campaign.Batch) bool {
	return slices.ContainsFunc(s, func(subject string) bool {
		return subject == "agent#"+b.AgentID || of(subject, b.ID)
	})
}

// mayBeOf is of for a batch that is not read yet.
func (s subjects) mayBeOf(ref campaign.BatchRef) bool {
	return slices.ContainsFunc(s, func(subject string) bool { return strings.HasPrefix(subject, "agent#") || of(subject, ref.ID) })
}

// of reports whether a pause of all, a tenant or a campaign was the campaign's.
func of(subject string, id campaign.ID) bool {
	return subject == "all" || subject == "tenant#"+id.Tenant || subject == campaign.PauseSubject(id)
}

// resumed returns the pauses that ended lately. Their batches wait for their next check if they cannot be read.
func (s *Sweeper) resumed(ctx context.Context) subjects {
	ended, err := s.Store.Resumed(ctx)
	if err != nil {
		slog.WarnContext(ctx, "reading the ended pauses failed; their batches go on at their next check", "error", err)
	}
	return ended
}

// wake processes the shard's batches that waited for a pause that has ended. Several sweeps do this, because a
// function that has read the pause earlier can mark a batch as waiting after its end.
func (r *shardSweep) wake(ctx context.Context) error {
	if len(r.resumed) == 0 {
		return nil
	}
	now := r.sweeper.Now()
	for due, err := range r.sweeper.Store.Due(ctx, r.shard, now.Add(outgoing.PauseCheck)) {
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("sweep: %w", err)
		case due.Check.After(now) && due.Batch != campaign.BatchRef{} && r.resumed.mayBeOf(due.Batch):
			r.count(ctx, due.Batch, r.wakeBatch)
			r.semaphore.next()
		}
	}
	return nil
}

// wakeBatch processes a batch that waits, unless another pause holds it.
func (r *shardSweep) wakeBatch(ctx context.Context, ref campaign.BatchRef) (action, error) {
	b, err := r.sweeper.Store.Batch(ctx, ref)
	if errors.Is(err, campaign.ErrNotFound) || err == nil && (!b.Waiting || !r.resumed.of(b)) {
		return undecided, nil
	}
	if err != nil {
		return failed, err
	}
	if stopped, err := r.stopped(ctx, b); stopped || err != nil {
		return paused, err
	}
	return r.sweepRead(ctx, b)
}
