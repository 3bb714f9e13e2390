package overview

import (
	"cmp"
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/insight"
)

const (
	// maxRecent is the number of the last campaigns that are searched for unfinished ones.
	maxRecent = 15
	// maxOpen is the number of unfinished campaigns that are read with their batches.
	maxOpen = 6
	// maxWaiting is the number of campaigns that wait, and are not among the next ones, that are read.
	maxWaiting = 6
	// maxNext is the number of scheduled campaigns shown.
	maxNext = 5
	// atOnce is the number of campaigns read concurrently.
	atOnce = 8
)

// found are the unfinished campaigns among the next and the last ones.
type found struct {
	campaigns int // without tests
	tested    bool
	approvals int         // that the person may decide
	next      []scheduled // by time
	stalled   []alert     // and paused, without sending hours, and with a wave that waits
}

// scheduled is a campaign with its next time.
type scheduled struct {
	ID, Name string
	At       time.Time
	People   int
}

// find reads the campaigns that go next, and the last ones.
func (s *Pages) find(ctx context.Context, who web.Session) (f found, err error) {
	listed, approvals, err := s.shown(ctx, who)
	if err != nil {
		return f, err
	}
	f.approvals = approvals
	open, err := s.open(ctx, who.Tenant, f.withoutTests(listed))
	if err != nil {
		return f, err
	}
	err = s.read(ctx, open[:min(len(open), maxNext+maxWaiting+maxOpen)], &f)
	return f, err
}

// shown returns the next campaigns, then others that wait, then the last ones, and the number of requests for approval that
// the person may decide.
func (s *Pages) shown(ctx context.Context, who web.Session) (_ []campaign.Listed, approvals int, _ error) {
	var next, recent []campaign.Listed
	var waiting []campaign.ID
	var decides decisions
	now, tenant := s.Now(), who.Tenant
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) { next, err = s.Store.NextCampaigns(ctx, tenant, now, maxNext); return err })
	group.Go(func() (err error) { recent, err = s.Store.RecentCampaigns(ctx, tenant, now, maxRecent); return err })
	group.Go(func() (err error) { waiting, err = s.Store.WaitingCampaigns(ctx, tenant, maxWaiting); return err })
	group.Go(func() (err error) { decides, err = s.decisions(ctx, who); return err })
	err := group.Wait()
	for _, id := range append(decides.waves[:min(len(decides.waves), maxWaiting)], waiting...) {
		is := func(c campaign.Listed) bool { return c.ID == id }
		of := campaign.Listed{ID: id}
		if at := slices.IndexFunc(recent, is); at >= 0 {
			of = recent[at]
			recent = slices.Delete(recent, at, at+1)
		}
		if !slices.ContainsFunc(next, is) {
			next = append(next, of)
		}
	}
	return append(next, recent...), decides.approvals, err
}

// withoutTests counts the campaigns and returns them without test messages.
func (f *found) withoutTests(listed []campaign.Listed) []campaign.Listed {
	var own []campaign.Listed
	for _, c := range listed {
		if c.Test {
			f.tested = true
			continue
		}
		own = append(own, c)
	}
	f.campaigns += len(own)
	return own
}

// unfinished is a campaign with unfinished batches.
type unfinished struct {
	campaign.Listed
	insight.Results

	current bool // the results
}

// open returns the unfinished campaigns with their stored results.
func (s *Pages) open(ctx context.Context, tenant string, listed []campaign.Listed) (open []unfinished, err error) {
	standings, stored, err := s.Store.StandingsAndResults(ctx, tenant, campaign.IDsOf(listed))
	for _, c := range listed {
		of := standings[c.CampaignID]
		if of.CancelledAt.IsZero() && !of.Finished() {
			c.Name = cmp.Or(c.Name, of.Name)
			r := stored[c.CampaignID]
			r.InWaves = insight.InWavesOf(of.Submission)
			open = append(open, unfinished{c, r, r.Current(of, s.Now())})
		}
	}
	return open, err
}

// read adds the scheduled and the stalled ones of the campaigns. It reads those without
// current results.
func (s *Pages) read(ctx context.Context, open []unfinished, f *found) error {
	reader := web.ResultReader{Store: s.Store, Now: s.Now}
	open, err := web.ReadEach(ctx, atOnce, open, func(ctx context.Context, c unfinished) (_ unfinished, err error) {
		if !c.current {
			c.Results, err = reader.Read(ctx, c.ID)
		}
		return c, campaign.IgnoreNotFound(err) // deleted meanwhile
	})
	if err != nil {
		return err
	}
	for _, c := range open {
		f.add(c, s.Now())
	}
	slices.SortFunc(f.next, func(a, b scheduled) int { return a.At.Compare(b.At) })
	f.next = f.next[:min(len(f.next), maxNext)]
	return nil
}

// add adds a campaign that waits, is paused, is stalled or has no sending hours left.
func (f *found) add(c unfinished, now time.Time) {
	paused := c.Status == campaign.StatusPaused
	if paused {
		f.stalled = append(f.stalled, alert{Key: "campaign_paused", Name: c.Name, Path: web.CampaignPath(c.CampaignID)})
	}
	if c.Status == insight.StatusHolding && c.Holding > 0 {
		f.stalled = append(f.stalled, alert{Key: "wave", Name: c.Name, Path: web.CampaignPath(c.CampaignID), N: c.Holding, Of: c.Waves})
	}
	if c.Next.After(now) && !paused {
		people := c.ToGo
		if c.Waves == 0 { // the people of later waves wait for a person
			people += c.ToCome()
		}
		f.next = append(f.next, scheduled{ID: c.CampaignID, Name: c.Name, At: c.Next, People: people})
	}
	if c.NeverGo > 0 && !paused {
		f.stalled = append(f.stalled, alert{Key: "never_goes", Name: c.Name, Path: web.CampaignPath(c.CampaignID), N: c.NeverGo, At: c.EndsAt})
	}
	if c.Stalled && !paused {
		f.stalled = append(f.stalled, alert{Key: "stalled", Name: c.Name, Path: web.CampaignPath(c.CampaignID)})
	}
}
