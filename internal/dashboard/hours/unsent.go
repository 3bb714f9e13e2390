package hours

import (
	"context"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/reach"
)

// Campaigns reads the campaigns of a tenant that are not finished.
type Campaigns interface {
	reach.Templates
	// NextCampaigns returns campaigns that go from a time on, those that go first first.
	NextCampaigns(ctx context.Context, tenant string, from time.Time, limit int32) ([]campaign.Listed, error)
	// RecentCampaigns returns campaigns that go before a time, those that go last first.
	RecentCampaigns(ctx context.Context, tenant string, before time.Time, limit int32) ([]campaign.Listed, error)
	// WaitingCampaigns returns campaigns with batches that are paused or closed.
	WaitingCampaigns(ctx context.Context, tenant string, limit int) ([]campaign.ID, error)
	// Standings returns the summaries of at most 50 campaigns.
	Standings(ctx context.Context, tenant string, ids []string) (map[string]campaign.Summary, error)
	// Overview returns a campaign with its outcomes but no contents. The error wraps campaign.ErrNotFound if there is none.
	Overview(ctx context.Context, id campaign.ID) (campaign.Campaign, error)
}

const (
	// maxListed is the maximum number of campaigns that are read of each list: the next, the last, and those that wait.
	maxListed = 50
	// readAtOnce is the number of campaigns read concurrently.
	readAtOnce = 8
)

// unsent are the people to whom nothing will be sent by the hours that a person enters.
type unsent struct {
	Campaigns []unsentOf
	People    int
	More      bool // there are more campaigns than were read
}

type unsentOf struct {
	Name, Path string
	People     int
}

// unsentBy counts the people of unfinished campaigns to whom nothing will be sent by a policy.
func (s *Pages) unsentBy(ctx context.Context, tenant string, p reach.TenantHours) (u unsent, err error) {
	ids, more, err := s.unfinished(ctx, tenant)
	if err != nil {
		return u, err
	}
	found, err := web.ReadEach(ctx, readAtOnce, ids, func(ctx context.Context, id campaign.ID) (unsentOf, error) {
		return s.unsentOf(ctx, id, p)
	})
	if err != nil {
		return u, err
	}
	u.Campaigns, u.More = slices.DeleteFunc(found, func(c unsentOf) bool { return c.People == 0 }), more
	for _, c := range u.Campaigns {
		u.People += c.People
	}
	return u, nil
}

func (s *Pages) unsentOf(ctx context.Context, id campaign.ID, p reach.TenantHours) (unsentOf, error) {
	c, err := s.Campaigns.Overview(ctx, id)
	if err != nil {
		return unsentOf{}, campaign.IgnoreNotFound(err)
	}
	people, err := reach.NeverSent(ctx, s.Campaigns, p, c, s.Now())
	return unsentOf{Name: c.Name, Path: web.CampaignPath(id.CampaignID), People: people}, err
}

// unfinished returns the campaigns of a tenant that are not finished, and whether there can be more.
func (s *Pages) unfinished(ctx context.Context, tenant string) (ids []campaign.ID, more bool, err error) {
	var next, recent []campaign.Listed
	var waiting []campaign.ID
	now := s.Now()
	group, lists := errgroup.WithContext(ctx)
	group.Go(func() (err error) { next, err = s.Campaigns.NextCampaigns(lists, tenant, now, maxListed); return err })
	group.Go(func() (err error) { recent, err = s.recent(lists, tenant, now); return err })
	group.Go(func() (err error) { waiting, err = s.Campaigns.WaitingCampaigns(lists, tenant, maxListed); return err })
	if err := group.Wait(); err != nil {
		return nil, false, err
	}
	for _, c := range slices.Concat(next, recent) {
		ids = append(ids, c.ID)
	}
	ids, more = append(ids, waiting...), max(len(next), len(recent), len(waiting)) == maxListed
	slices.SortFunc(ids, func(a, b campaign.ID) int { return strings.Compare(a.CampaignID, b.CampaignID) })
	return slices.Compact(ids), more, nil
}

// recent returns those of the last campaigns that are not finished.
func (s *Pages) recent(ctx context.Context, tenant string, now time.Time) ([]campaign.Listed, error) {
	listed, err := s.Campaigns.RecentCampaigns(ctx, tenant, now, maxListed)
	if err != nil {
		return nil, err
	}
	standings, err := s.Campaigns.Standings(ctx, tenant, campaign.IDsOf(listed))
	return slices.DeleteFunc(listed, func(c campaign.Listed) bool { return standings[c.CampaignID].Finished() }), err
}
