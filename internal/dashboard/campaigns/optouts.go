package campaigns

import (
	"context"
	"log/slog"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/recent"
	"campaign-dispatch/internal/insight"
)

const (
	// optOutsWithin is how long after its first message the opt-outs of a campaign's recipients
	// are shown. The times of opt-outs are kept as long.
	optOutsWithin = campaign.EventsRepeated
	optOutsShown  = 100 // opt-outs on the page
)

type optOutsPage struct {
	campaign.Campaign
	Known         bool // they can be counted
	N             int
	Compared      int // of N, as they are compared with other campaigns
	Delivered     int
	OptedOutSince []campaign.OptChange // the newest
}

func countsOptOuts(r insight.Results, now time.Time) bool { return begunWithin(r, now, optOutsWithin) }

func (s *Pages) optOuts(p *web.Page, c campaign.Campaign) error {
	sent := insight.ResultsOf(c, s.Now())
	l := optOutsPage{Campaign: c, Delivered: sent.Delivered}
	if countsOptOuts(sent, sent.At) {
		if err := s.addOptOuts(p.R.Context(), &l, sent); err != nil {
			return err
		}
	}
	return p.RenderOr("campaigns_opt_outs_count.html", "campaigns.opt_outs", "campaigns_opt_outs.html", l)
}

func (s *Pages) addOptOuts(ctx context.Context, l *optOutsPage, sent insight.Results) error {
	changes, known, err := s.OptOuts.Recent(ctx, l.Tenant)
	if err != nil || !known {
		return err
	}
	since, err := s.countOptOuts(ctx, l.ID, &sent, changes)
	l.Known, l.N, l.Compared, l.OptedOutSince = true, len(since), sent.OptOuts, since[:min(len(since), optOutsShown)]
	return err
}

// countOptOuts returns the opt-outs of a campaign's recipients since it was sent, and adds their number to its results.
// It stores the number if that will not change. A failure to store it costs only another count.
func (s *Pages) countOptOuts(
	ctx context.Context, id campaign.ID, r *insight.Results, changes []campaign.OptChange,
) ([]campaign.OptChange, error) {
	since, err := s.Messages.OptedOutSince(ctx, id, r.First, changes)
	if err != nil {
		return nil, err
	}
	r.CountOptOuts(since)
	if !r.Settled() {
		return since, nil
	}
	if err := s.Store.KeepOptOutCount(ctx, id, *r); err != nil {
		slog.WarnContext(ctx, "storing a campaign's opt-outs failed", "campaign_id", id.CampaignID, "error", err)
	}
	return since, nil
}

// addStoredOptOuts adds the stored opt-outs of a campaign.
func (s *Pages) addStoredOptOuts(ctx context.Context, c *recent.Sent) error {
	stored, err := s.Store.Results(ctx, c.Tenant, []string{c.CampaignID})
	kept := stored[c.CampaignID]
	c.OptOuts, c.OptOutsUntil = kept.OptOuts, kept.OptOutsUntil
	return err
}

// addOptOutsOf adds the opt-outs of a tenant's campaigns. Those that cannot be counted any more, or have too many
// batches, are left without.
func (s *Pages) addOptOutsOf(ctx context.Context, tenant string, sent []recent.Sent) error {
	uncounted := uncountedOf(sent, s.Now())
	if len(uncounted) == 0 {
		return nil
	}
	changes, known, err := s.OptOuts.Recent(ctx, tenant)
	if err != nil || !known {
		return err
	}
	for _, c := range uncounted {
		if _, err := s.countOptOuts(ctx, c.ID, &c.Results, changes); err != nil {
			return err
		}
	}
	return nil
}

func uncountedOf(sent []recent.Sent, now time.Time) (found []*recent.Sent) {
	left := recent.MaxBatches
	for i := range sent {
		c := &sent[i]
		if c.OptOutsKnown() || !countsOptOuts(c.Results, now) || c.Batches > left {
			continue
		}
		left -= c.Batches
		found = append(found, c)
	}
	return found
}
