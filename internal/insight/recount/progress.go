package recount

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
)

const (
	// recentDays is the number of days whose results are recounted, today included; see loggedDays for opt-outs. All
	// messages of an earlier day have final outcomes.
	recentDays      = 5
	scheduledWithin = 366 * 24 * time.Hour // maximum time from a campaign's creation to its batches' due time
	// skew is more than the clocks of two processes differ.
	skew      = time.Minute
	chunk     = 50 // number of campaigns read at once
	atOnce    = 8  // number of campaigns read concurrently
	keptAfter = 20 // number of chunks after which progress is kept, in case the process ends at once
)

// progress is what a recount of a tenant has counted. Another call can go on with it: a day that changes after Stored was
// read is not set, however late the call is.
type progress struct {
	Tenant  string
	Began   time.Time
	Stored  []campaign.Day                // read before anything was counted, see SetDay
	OptOuts map[string]int                // numbers by day
	Results map[string]campaign.DayCounts // by day, without opt-outs; nil if the tenant has no campaigns so far
	After   string                        // the cursor of the last campaign that was counted
	Counted bool                          // all campaigns were counted
}

// firstDay and lastDay are the days whose results are recounted.
func (p *progress) firstDay() string { return localtime.Day(p.Began.AddDate(0, 0, 1-recentDays)) }
func (p *progress) lastDay() string  { return localtime.Day(p.Began) }

// begin reads the stored days of a tenant, and counts its opt-outs.
func (r *Recounter) begin(ctx context.Context, tenant string) (*progress, error) {
	p := &progress{Tenant: tenant, Began: r.Now()}
	var err error
	if p.Stored, err = r.Store.Days(ctx, tenant, startOfLog(p.Began), p.lastDay()); err != nil {
		return nil, err
	}
	if p.OptOuts, err = r.optOuts(ctx, tenant, p.Began); err != nil {
		return nil, err
	}
	return p, nil
}

// finish counts the campaigns that are left, then sets the days whose counts differ. It calls keep from time to time.
func (r *Recounter) finish(ctx context.Context, p *progress, keep func() error) error {
	for chunks := 1; !p.Counted; chunks++ {
		if err := r.countChunk(ctx, p); err != nil {
			return err
		}
		if chunks%keptAfter == 0 {
			if err := keep(); err != nil {
				return err
			}
		}
	}
	return r.set(ctx, p)
}

// countChunk counts the next campaigns of the list. It changes p only if it succeeds.
func (r *Recounter) countChunk(ctx context.Context, p *progress) error {
	listed, err := r.Store.ListCampaigns(ctx, p.Tenant, p.After, chunk)
	if err != nil {
		return err
	}
	found, err := r.mayCount(ctx, p, listed)
	if err != nil {
		return err
	}
	counts, err := r.count(ctx, p, found)
	if err != nil {
		return err
	}
	p.add(listed, counts)
	return nil
}

func (p *progress) add(listed []campaign.Listed, counts map[string]campaign.DayCounts) {
	if p.Results == nil && slices.ContainsFunc(listed, func(c campaign.Listed) bool { return !c.Test }) {
		p.Results = map[string]campaign.DayCounts{}
	}
	for date, of := range counts {
		p.Results[date] = p.Results[date].Plus(of)
	}
	earliest := p.Began.AddDate(0, 0, 1-recentDays).Add(-scheduledWithin)
	p.Counted = len(listed) < chunk || listed[chunk-1].CreatedAt.Before(earliest)
	if !p.Counted {
		p.After = listed[chunk-1].Cursor
	}
}

// mayCount returns the campaigns with batches that may count on the days, without tests: those that were created from the
// first day on, and those that had not ended before.
func (r *Recounter) mayCount(ctx context.Context, p *progress, listed []campaign.Listed) (found []campaign.ID, err error) {
	var earlier []string
	for _, c := range listed {
		switch {
		case c.Test:
		case localtime.Day(c.CreatedAt) >= p.firstDay():
			found = append(found, c.ID)
		default:
			earlier = append(earlier, c.CampaignID)
		}
	}
	standings, err := r.Store.Standings(ctx, p.Tenant, earlier)
	if err != nil {
		return nil, err
	}
	for _, id := range earlier {
		if ended := standings[id].EndedAt(); ended.IsZero() || localtime.Day(ended.Add(skew)) >= p.firstDay() {
			found = append(found, campaign.ID{Tenant: p.Tenant, CampaignID: id})
		}
	}
	return found, nil
}

// count returns the counts of the campaigns' batches by day.
func (r *Recounter) count(ctx context.Context, p *progress, campaigns []campaign.ID) (map[string]campaign.DayCounts, error) {
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
				counts[date] = counts[date].Plus(of)
			}
			return nil
		})
	}
	err := group.Wait()
	maps.DeleteFunc(counts, func(date string, _ campaign.DayCounts) bool { return date < p.firstDay() || date > p.lastDay() })
	return counts, err
}

// set writes the days whose counts differ from the stored ones. A day that changed meanwhile
// is left to the next recount.
func (r *Recounter) set(ctx context.Context, p *progress) error {
	for _, was := range p.days() {
		d := p.corrected(was)
		if d == was {
			continue
		}
		if _, err := r.Store.SetDay(ctx, p.Tenant, d); err != nil {
			return err
		}
	}
	return nil
}

// days returns the stored days and the days that are counted and not stored, by date.
func (p *progress) days() map[string]campaign.Day {
	days := map[string]campaign.Day{}
	for date := range p.Results {
		days[date] = campaign.Day{Date: date}
	}
	for date := range p.OptOuts {
		days[date] = campaign.Day{Date: date}
	}
	for _, d := range p.Stored {
		days[d.Date] = d
	}
	return days
}

// corrected returns a day with the counts that were found. Its opt-outs stay if some were counted without the log, by a
// version that did not write it.
func (p *progress) corrected(d campaign.Day) campaign.Day {
	optedOut := d.OptedOut
	if p.Results != nil && d.Date >= p.firstDay() {
		d.DayCounts = p.Results[d.Date]
	}
	if optedOut == d.Logged {
		optedOut, d.Logged = p.OptOuts[d.Date], p.OptOuts[d.Date]
	}
	d.OptedOut = optedOut
	return d
}
