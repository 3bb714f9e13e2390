package sweep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/send/outgoing"
	"campaign-dispatch/internal/send/policy"
)

// subjects are pauses that ended lately, "all", "tenant#id", "agent#id" or campaign.PauseSubject, and send policies that
// changed.
type subjects []string

// of reports whether a batch may have waited for one of the subjects.
func (s subjects) of(b campaign.Batch) bool {
	return slices.ContainsFunc(s, func(subject string) bool {
		return b.Waiting && (subject == "agent#"+b.AgentID || of(subject, b.ID)) ||
			b.WaitingZones != 0 && subject == policy.Changed(b.Tenant)
	})
}

// ahead returns how far in the future the next checks of the subjects' batches can be.
func (s subjects) ahead() time.Duration {
	if slices.ContainsFunc(s, policy.IsChange) {
		return policy.MaxWait + time.Hour
	}
	return outgoing.PauseCheck
}

// mayBeOf is of for a batch that is not read yet.
func (s subjects) mayBeOf(ref campaign.BatchRef) bool {
	return slices.ContainsFunc(s, func(subject string) bool {
		return strings.HasPrefix(subject, "agent#") || of(subject, ref.ID) || subject == policy.Changed(ref.Tenant)
	})
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
	for due, err := range r.sweeper.Store.Due(ctx, r.shard, now.Add(r.resumed.ahead())) {
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

// wakeBatch processes a batch that waits, unless a pause holds it.
func (r *shardSweep) wakeBatch(ctx context.Context, ref campaign.BatchRef) (action, error) {
	b, err := r.sweeper.Store.Batch(ctx, ref)
	if errors.Is(err, campaign.ErrNotFound) || err == nil && !r.resumed.of(b) {
		return undecided, nil
	}
	if err != nil {
		return failed, err
	}
	route, err := r.route(ctx, b)
	if err != nil {
		return failed, err
	}
	if route.Holds(b, r.sweeper.Now()) {
		return paused, nil
	}
	return r.sweepRead(ctx, b)
}
