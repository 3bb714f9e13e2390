// Package recount corrects the counts of days from the ledgers and the log of opt-outs. A function that ends
// between writing one of them and counting loses the count, and a repeated call counts twice.
package recount

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"log/slog"
	"time"

	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
)

// Store reads campaigns, and reads and writes the counts of days.
type Store interface {
	// Tenants returns all tenants, ordered by ID.
	Tenants(ctx context.Context) ([]campaign.Tenant, error)
	// ListCampaigns returns up to limit campaigns after a cursor, "" for the beginning, those that go last first.
	ListCampaigns(ctx context.Context, tenant, after string, limit int32) ([]campaign.Listed, error)
	// Standings returns the summaries of at most 50 campaigns.
	Standings(ctx context.Context, tenant string, campaignIDs []string) (map[string]campaign.Summary, error)
	// Overview returns a campaign with its outcomes but no contents. The error wraps campaign.ErrNotFound if there is none.
	Overview(ctx context.Context, id campaign.ID) (campaign.Campaign, error)
	// LoggedOptOuts yields the opt-outs that arrived at an instant or later.
	LoggedOptOuts(ctx context.Context, tenant string, arrived time.Time) iter.Seq2[reaction.LoggedOptOut, error]
	// Days returns the days with counts between two dates, both included, in order.
	Days(ctx context.Context, tenant, from, to string) ([]campaign.Day, error)
	// SetDay replaces a day if its version is the one that was read, and reports whether it did.
	SetDay(ctx context.Context, tenant string, d campaign.Day) (bool, error)
	// RecountCursor returns what SaveRecountCursor stored last, and its version: nil and 0 before the first.
	RecountCursor(ctx context.Context) (cursor []byte, version int, err error)
	// SaveRecountCursor replaces the cursor if its version is the one that was read, and reports whether it did.
	SaveRecountCursor(ctx context.Context, cursor []byte, version int) (bool, error)
}

// Recounter recounts the days of the tenants.
type Recounter struct {
	Store  Store
	Now    func() time.Time
	Random func(n int) int // a random number below n
}

const (
	every  = 6 * 60          // time between two recounts of a tenant, in minutes
	margin = 5 * time.Second // time reserved for the end of a call
)

// Recount recounts the tenants whose turn is in the minute of an instant, until shortly before the end of ctx. It begins
// with those that earlier calls have not finished: a call that ends early keeps what it has counted, and the next one goes
// on there. A failed recount is logged and repeated at the next turn. The instant is the start of the sweep: its end
// may be in a later minute, so some tenants would lose their turn.
func (r *Recounter) Recount(ctx context.Context, at time.Time) error {
	work, cancel := retry.WithMargin(ctx, margin)
	defer cancel()
	tenants, err := r.Store.Tenants(work)
	if err != nil {
		return fmt.Errorf("recount: %w", err)
	}
	q, err := r.load(work)
	if err != nil {
		return fmt.Errorf("recount: %w", err)
	}
	q.add(turn(tenants, at), r.Random)
	err = r.work(work, q)
	if !errors.Is(err, errOvertaken) {
		err = errors.Join(err, r.keep(ctx, q))
	}
	if err != nil {
		return fmt.Errorf("recount: %w", err)
	}
	return nil
}

// turn returns the tenants whose turn is in the minute of an instant.
func turn(tenants []campaign.Tenant, at time.Time) (ids []string) {
	minute := at.Unix() / 60 % every
	for _, t := range tenants {
		if minute == minuteOf(t.ID) {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

func minuteOf(tenant string) int64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(tenant))
	return int64(h.Sum32() % every)
}

// work recounts the tenants of the queue in their order, until ctx ends. It returns errOvertaken, and no other error.
func (r *Recounter) work(ctx context.Context, q *queue) error {
	for len(q.Left) > 0 {
		err := r.first(ctx, q)
		switch {
		case errors.Is(err, errOvertaken):
			return err
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the queue has what is left
		case err != nil:
			metrics.Add(ctx, metrics.RecountFailed, 1)
			slog.WarnContext(ctx, "recounting results failed; the next turn repeats it", "tenant", q.Left[0], "error", err)
		}
		q.drop()
	}
	return nil
}

// first recounts the first tenant of the queue.
func (r *Recounter) first(ctx context.Context, q *queue) (err error) {
	if q.Begun == nil {
		q.Begun = q.takeAside(q.Left[0])
	}
	if q.Begun == nil {
		if q.Begun, err = r.begin(ctx, q.Left[0]); err != nil {
			return err
		}
	}
	return r.finish(ctx, q.Begun, func() error { return r.keep(ctx, q) })
}

// Tenant recounts the recent days of a tenant: it sets those whose counts differ from the ledgers and the log.
func (r *Recounter) Tenant(ctx context.Context, tenant string) error {
	p, err := r.begin(ctx, tenant)
	if err != nil {
		return err
	}
	return r.finish(ctx, p, func() error { return nil })
}
