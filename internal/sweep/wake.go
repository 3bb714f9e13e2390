package sweep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/internal/send/outgoing"
)

// subjectAll is the subject of the pause of all tenants.
const subjectAll = "all"

// subjects are pauses that ended lately, "all", "tenant#id", "agent#id" or campaign.PauseSubject, and hours of tenants that
// changed.
type subjects []string

// of reports whether a batch may have waited for one of the subjects.
func (s subjects) of(b campaign.Batch) bool {
	return slices.ContainsFunc(s, func(subject string) bool {
		return b.Waits.Paused && (subject == "agent#"+b.AgentID || of(subject, b.ID)) ||
			b.Waits.Zones != 0 && subject == reach.Changed(b.Tenant)
	})
}

// of reports whether a pause of all, a tenant or a campaign was the campaign's.
func of(subject string, id campaign.ID) bool {
	return subject == subjectAll || subject == "tenant#"+id.Tenant || subject == campaign.PauseSubject(id)
}

// resumed returns the pauses that ended lately. Their batches wait for their next check if they cannot be read.
func (s *Sweeper) resumed(ctx context.Context) subjects {
	ended, err := s.Store.Resumed(ctx)
	if err != nil {
		slog.WarnContext(ctx, "reading the ended pauses failed; their batches go on at their next check", "error", err)
	}
	return ended
}

// wakes returns the batches of the section that wait and whose tenants the subjects are about, by shard. Those that cannot
// be read go on at their next check. The end of a pause of all tenants has none: wake looks at all due rows.
func (s *Sweeper) wakes(ctx context.Context, section Section, ended subjects) map[int][]campaign.BatchRef {
	wakes, read := map[int][]campaign.BatchRef{}, map[string]bool{}
	for _, subject := range ended {
		tenant, err := s.tenantOf(ctx, subject)
		if err == nil && tenant != "" && !read[tenant] && section.sweeps(s.shardOf(campaign.BatchRef{ID: campaign.ID{Tenant: tenant}})) {
			read[tenant] = true
			err = s.addWakes(ctx, tenant, wakes)
		}
		if err != nil {
			slog.WarnContext(ctx, "reading the batches that wait failed; they go on at their next check", "error", err)
		}
	}
	return wakes
}

func (s *Sweeper) addWakes(ctx context.Context, tenant string, wakes map[int][]campaign.BatchRef) error {
	for ref, err := range s.Store.Waits(ctx, tenant) {
		if err != nil {
			return err
		}
		shard := s.shardOf(ref)
		wakes[shard] = append(wakes[shard], ref)
	}
	return nil
}

func (s *Sweeper) shardOf(ref campaign.BatchRef) int { return s.Store.DueShard(ref) % s.Shards }

// tenantOf returns the tenant that a subject is about, "" for all tenants.
func (s *Sweeper) tenantOf(ctx context.Context, subject string) (string, error) {
	if tenant, ok := reach.ChangedTenant(subject); ok {
		return tenant, nil
	}
	if tenant, ok := campaign.PausedTenant(subject); ok {
		return tenant, nil
	}
	if agent, ok := strings.CutPrefix(subject, "agent#"); ok {
		return s.Store.TenantOf(ctx, agent)
	}
	if tenant, ok := strings.CutPrefix(subject, "tenant#"); ok {
		return tenant, nil
	}
	return "", nil
}

// wake processes the shard's batches that waited for a pause that has ended. Several sweeps do this, because a
// function that has read the pause earlier can mark a batch as waiting after its end.
func (r *shardSweep) wake(ctx context.Context) error {
	for _, ref := range r.wakes {
		if ctx.Err() != nil {
			r.cut = true
			return nil
		}
		r.count(ctx, ref, r.wakeBatch)
		r.semaphore.next()
	}
	if !slices.Contains(r.resumed, subjectAll) {
		return nil
	}
	now := r.sweeper.Now()
	for due, err := range r.sweeper.Store.Due(ctx, r.shard, now.Add(outgoing.PauseCheck)) {
		switch {
		case ctx.Err() != nil:
			r.cut = true
			return nil
		case err != nil:
			return fmt.Errorf("sweep: %w", err)
		case due.Check.After(now) && due.Batch != campaign.BatchRef{}:
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
	if route.Pauses(b, r.sweeper.Now()) {
		return paused, nil
	}
	return r.sweepRead(ctx, b)
}
