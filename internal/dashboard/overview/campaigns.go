package overview

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
)

const (
	// maxRecent is the number of the last campaigns that are searched for unfinished ones.
	maxRecent = 15
	// maxOpen is the number of unfinished campaigns that are read with their batches.
	maxOpen = 6
	// maxNext is the number of scheduled campaigns shown.
	maxNext = 5
	// atOnce is the number of campaigns read concurrently.
	atOnce = 8
)

// found are the unfinished campaigns among the next and the last ones.
type found struct {
	campaigns int // without tests
	tested    bool
	next      []scheduled // by time
	stalled   []alert
}

// scheduled is a campaign with its next time.
type scheduled struct {
	ID, Name string
	At       time.Time
	Messages int
}

// find reads the campaigns that go next, and the last ones.
func (s *Pages) find(ctx context.Context, tenant string) (found, error) {
	var f found
	now := s.Now()
	next, err := s.Store.NextCampaigns(ctx, tenant, now, maxNext)
	if err != nil {
		return f, err
	}
	recent, err := s.Store.RecentCampaigns(ctx, tenant, now, maxRecent)
	if err != nil {
		return f, err
	}
	open, err := s.open(ctx, tenant, f.withoutTests(append(next, recent...)))
	if err != nil {
		return f, err
	}
	err = s.read(ctx, open[:min(len(open), maxNext+maxOpen)], &f)
	return f, err
}

// withoutTests counts the campaigns and returns them without test messages.
func (f *found) withoutTests(listed []campaign.Listed) []campaign.Listed {
	var own []campaign.Listed
	for _, c := range listed {
		if campaign.TestName.MatchString(c.Name) {
			f.tested = true
			continue
		}
		own = append(own, c)
	}
	f.campaigns += len(own)
	return own
}

// open returns the campaigns with unfinished batches.
func (s *Pages) open(ctx context.Context, tenant string, listed []campaign.Listed) (open []campaign.Listed, err error) {
	ids := make([]string, len(listed))
	for i, c := range listed {
		ids[i] = c.CampaignID
	}
	standings, err := s.Store.Standings(ctx, tenant, ids)
	for _, c := range listed {
		if of := standings[c.CampaignID]; of.Completed < of.Batches && of.CancelledAt.IsZero() {
			open = append(open, c)
		}
	}
	return open, err
}

// read adds the scheduled and the stalled ones of the campaigns.
func (s *Pages) read(ctx context.Context, open []campaign.Listed, f *found) error {
	campaigns := make([]campaign.Campaign, len(open))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i, c := range open {
		group.Go(func() (err error) {
			campaigns[i], err = s.Store.Dispatched(ctx, c.ID)
			if errors.Is(err, campaign.ErrNotFound) { // deleted meanwhile
				return nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, c := range campaigns {
		if next, ok := s.next(c); ok {
			f.next = append(f.next, next)
		}
		if slices.ContainsFunc(c.Batches, stalls) {
			f.stalled = append(f.stalled, alert{Key: "stalled", Name: c.Name, Path: web.Root + "/campaigns/" + c.CampaignID})
		}
	}
	slices.SortFunc(f.next, func(a, b scheduled) int { return a.At.Compare(b.At) })
	f.next = f.next[:min(len(f.next), maxNext)]
	return nil
}

// next returns the campaign's next time, false if no batch waits for one.
func (s *Pages) next(c campaign.Campaign) (scheduled, bool) {
	n := scheduled{ID: c.CampaignID, Name: c.Name}
	for _, b := range c.Batches {
		if b.State != campaign.BatchPending || b.Cancelled() || !b.Due.After(s.Now()) {
			continue
		}
		n.Messages += b.Accepted
		if n.At.IsZero() || b.Due.Before(n.At) {
			n.At = b.Due
		}
	}
	return n, !n.At.IsZero()
}

// stalls reports whether the last sends of a batch failed.
func stalls(b campaign.Progress) bool {
	return b.State == campaign.BatchSending && !b.Failing.At.IsZero()
}
