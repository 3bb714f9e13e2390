// Package recount corrects the counts of days from the ledgers and the log of opt-outs. A function that ends
// between writing one of them and counting loses the count, and a repeated call counts twice.
package recount

import (
	"context"
	"fmt"
	"hash/fnv"
	"iter"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
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
}

// Recounter recounts the days of the tenants.
type Recounter struct {
	Store Store
	Now   func() time.Time
}

const (
	every = 6 * 60 // time between two recounts of a tenant, in minutes
	// recentDays is the number of days whose results are recounted, today included; see loggedDays for opt-outs. All
	// messages of an earlier day have final outcomes.
	recentDays      = 5
	scheduledWithin = 366 * 24 * time.Hour // maximum time from a campaign's creation to its batches' due time
	// maxCampaigns is the maximum number of listed campaigns. The days of a tenant with more are not recounted.
	maxCampaigns = 50_000
	chunk        = 50              // number of campaigns read at once
	atOnce       = 8               // number of campaigns read concurrently
	margin       = 5 * time.Second // time reserved for the end of a call
)

// Recount recounts the tenants whose turn is in the minute of an instant, until shortly before the end of
// ctx. A failed recount is logged and repeated at the next turn. The instant is the start of the sweep: its end
// may be in a later minute, so some tenants would lose their turn.
func (r *Recounter) Recount(ctx context.Context, at time.Time) error {
	ctx, cancel := retry.WithMargin(ctx, margin)
	defer cancel()
	tenants, err := r.Store.Tenants(ctx)
	if err != nil {
		return fmt.Errorf("recount: %w", err)
	}
	minute := at.Unix() / 60
	for _, t := range tenants {
		if minute%every != minuteOf(t.ID) {
			continue
		}
		if err := r.Tenant(ctx, t.ID); err != nil {
			slog.WarnContext(ctx, "recounting results failed; the next turn repeats it", "tenant", t.ID, "error", err)
		}
	}
	return nil
}

func minuteOf(tenant string) int64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(tenant))
	return int64(h.Sum32() % every)
}

// Tenant recounts the recent days of a tenant: it sets those whose counts differ from the ledgers and the log.
func (r *Recounter) Tenant(ctx context.Context, tenant string) error {
	now := r.Now()
	stored, err := r.Store.Days(ctx, tenant, startOfLog(now), localtime.Day(now)) // before what is counted, see SetDay
	if err != nil {
		return err
	}
	from := now.AddDate(0, 0, 1-recentDays)
	c := counted{first: localtime.Day(from)}
	if c.optOuts, err = r.optOuts(ctx, tenant, now); err != nil {
		return err
	}
	campaigns, err := r.campaigns(ctx, tenant, from)
	if err == nil && len(campaigns) > 0 {
		c.results, err = r.count(ctx, campaigns, c.first, localtime.Day(now))
	}
	if err != nil {
		return err
	}
	return r.set(ctx, tenant, stored, c)
}

// campaigns lists the campaigns whose batches may be due from an instant on, without tests.
func (r *Recounter) campaigns(ctx context.Context, tenant string, from time.Time) (found []campaign.ID, err error) {
	after := ""
	for range maxCampaigns / chunk {
		listed, err := r.Store.ListCampaigns(ctx, tenant, after, chunk)
		if err != nil {
			return nil, err
		}
		some, err := r.mayBeDue(ctx, tenant, listed, from)
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
		if len(listed) < chunk || listed[chunk-1].CreatedAt.Before(from.Add(-scheduledWithin)) {
			return found, nil
		}
		after = listed[chunk-1].Cursor
	}
	return nil, fmt.Errorf("tenant %s has more than %d campaigns", tenant, maxCampaigns)
}

// mayBeDue returns the campaigns that were created from the day of an instant on, or that have a schedule.
func (r *Recounter) mayBeDue(
	ctx context.Context, tenant string, listed []campaign.Listed, from time.Time,
) (found []campaign.ID, err error) {
	var earlier []string
	for _, c := range listed {
		switch {
		case c.Test:
		case localtime.Day(c.CreatedAt) >= localtime.Day(from):
			found = append(found, c.ID)
		default:
			earlier = append(earlier, c.CampaignID)
		}
	}
	standings, err := r.Store.Standings(ctx, tenant, earlier)
	if err != nil {
		return nil, err
	}
	for _, id := range earlier {
		if standings[id].Scheduled || standings[id].Batches > 1 {
			found = append(found, campaign.ID{Tenant: tenant, CampaignID: id})
		}
	}
	return found, nil
}

// count returns the counts of the campaigns' batches by day.
func (r *Recounter) count(ctx context.Context, campaigns []campaign.ID, first, last string) (map[string]campaign.DayCounts, error) {
	counts, mu := map[string]campaign.DayCounts{}, sync.Mutex{}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, id := range campaigns {
		group.Go(func() error {
			c, err := r.Store.Overview(ctx, id)
			if err != nil {
				return campaign.IgnoreNotFound(err) // deleted meanwhile
			}
			mu.Lock()
			defer mu.Unlock()
			for date, of := range c.DayCounts() {
				if first <= date && date <= last {
					counts[date] = counts[date].Plus(of)
				}
			}
			return nil
		})
	}
	return counts, group.Wait()
}

// set writes the days whose counts differ from the stored ones. A day that changed meanwhile
// is left to the next recount.
func (r *Recounter) set(ctx context.Context, tenant string, stored []campaign.Day, c counted) error {
	for _, was := range c.withStored(stored) {
		d := c.corrected(was)
		if d == was {
			continue
		}
		if _, err := r.Store.SetDay(ctx, tenant, d); err != nil {
			return err
		}
	}
	return nil
}
