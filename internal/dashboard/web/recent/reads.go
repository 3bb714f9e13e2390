package recent

import (
	"context"
	"time"

	"campaign-dispatch/internal/base/cache"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/insight"
)

// ReadStore reads campaigns, the newest first, with their outcomes, and Standings of at most 50 campaigns.
type ReadStore interface {
	// ListCampaigns returns up to limit campaigns after a cursor, "" for the beginning, those that go last first.
	ListCampaigns(ctx context.Context, tenant, after string, limit int32) ([]campaign.Listed, error)
	// Standings returns the summaries of campaigns by ID, without those that do not exist.
	Standings(ctx context.Context, tenant string, campaignIDs []string) (map[string]campaign.Summary, error)
	// Overview returns a campaign with its outcomes but no contents. The error wraps campaign.ErrNotFound if there is none.
	Overview(ctx context.Context, id campaign.ID) (campaign.Campaign, error)
}

// Reads counts when the messages of a tenant's last campaigns were read. It is ready to use, and for concurrent use.
type Reads struct {
	Store ReadStore
	Now   func() time.Time

	known cache.Cache[string, known]
}

// known are times with the instant at which they are read again.
type known struct {
	Times

	until time.Time
}

// Times are when messages of the last campaigns were read.
type Times struct {
	insight.ReadTimes

	Campaigns int // whose messages were read
	Sent      int // hours of the week at which these were sent

	last time.Time // when the last of the campaigns went
}

const (
	// MaxBatches is the number of batches of the last campaigns that a page reads at most. Larger campaigns are
	// left out.
	MaxBatches = 200
	atOnce     = 4 // campaigns read concurrently
	// An hour of the week is proposed if so many messages of so many campaigns, sent at so many hours, were read.
	enoughRead, enoughCampaigns, enoughHours = 100, 3, 2
)

const (
	maxKnown = 1000 // tenants
	// Times are kept for an hour. While many messages are still to be read, they are kept for a shorter time.
	kept, keptUnsettled, keptFew = time.Hour, 5 * time.Minute, time.Minute
)

// Times returns the times of the last campaigns of a tenant: at most insight.MostCompared. They are up to an hour old, up
// to 5 minutes until the campaigns have settled, and up to a minute while few messages were read.
func (r *Reads) Times(ctx context.Context, tenant string) (Times, error) {
	now := r.Now()
	if old, ok := r.known.Peek(tenant, now, kept); ok && now.Before(old.until) {
		return old.Times, nil
	}
	times, err := r.read(ctx, tenant)
	if err == nil {
		r.known.Put(tenant, known{times, now.Add(times.keep(now))}, now, maxKnown)
	}
	return times, err
}

// keep returns how long the times, which were read at now, are kept.
func (t Times) keep(now time.Time) time.Duration {
	switch {
	case t.Few():
		return keptFew
	case now.Sub(t.last) < insight.SettledAfter:
		return keptUnsettled
	}
	return kept
}

func (r *Reads) read(ctx context.Context, tenant string) (times Times, err error) {
	listed, err := r.Store.ListCampaigns(ctx, tenant, campaign.CursorAt(r.Now()), chunk)
	if err != nil {
		return times, err
	}
	standings, err := r.Store.Standings(ctx, tenant, campaign.IDsOf(listed))
	if err != nil {
		return times, err
	}
	read, err := web.ReadEach(ctx, atOnce, fewOf(listed, standings), func(ctx context.Context, c campaign.Listed) (campaign.Campaign, error) {
		of, err := r.Store.Overview(ctx, c.ID)
		return of, campaign.IgnoreNotFound(err) // deleted meanwhile
	})
	times.add(read)
	return times, err
}

// fewOf returns the campaigns that are read.
func fewOf(listed []campaign.Listed, standings map[string]campaign.Summary) (few []campaign.Listed) {
	left := MaxBatches
	for _, c := range listed {
		n := standings[c.CampaignID].Batches
		if c.Test || n == 0 || n > left || len(few) == insight.MostCompared {
			continue
		}
		left -= n
		few = append(few, c)
	}
	return few
}

func (t *Times) add(read []campaign.Campaign) {
	sent := map[insight.WeekHour]bool{}
	for _, c := range read {
		before := t.Total()
		for _, b := range c.Batches {
			t.Add(b.Head.Timeline)
			if b.Due.After(t.last) {
				t.last = b.Due
			}
		}
		if t.Total() == before {
			continue
		}
		t.Campaigns++
		at := c.Batches[0].Due.In(localtime.SaoPaulo())
		sent[insight.WeekHour{Day: at.Weekday(), Hour: at.Hour()}] = true
	}
	t.Sent = len(sent)
}

// Few reports whether too few messages were read to show their times.
func (t Times) Few() bool { return t.Total() < enoughRead }

// Enough reports whether the times suffice to propose an hour. They do not if all campaigns were sent at the same hour of
// the week: messages are read soon after.
func (t Times) Enough() bool {
	return !t.Few() && t.Campaigns >= enoughCampaigns && t.Sent >= enoughHours
}
