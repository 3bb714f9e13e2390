package campaigns

import (
	"context"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
)

type pausePage struct {
	campaign.Campaign
	Action string // "pause" or "resume"
	Unsent int    // people whose message was not sent yet
	ToCome int    // of them, people of the file who are not accepted yet
}

func (s *Pages) askPause(p *web.Page, c campaign.Campaign) error {
	return p.Render("campaigns.pause", "campaigns_pause.html", newPausePage(c, "pause"))
}

func (s *Pages) askResume(p *web.Page, c campaign.Campaign) error {
	return p.Render("campaigns.resume", "campaigns_pause.html", newPausePage(c, "resume"))
}

func newPausePage(c campaign.Campaign, action string) pausePage {
	return pausePage{Campaign: c, Action: action, Unsent: c.Left(), ToCome: c.Submission.ToCome()}
}

// pausable returns the campaign in the path. It refuses one that cannot be paused.
func (s *Pages) pausable(p *web.Page) (campaign.Campaign, error) {
	c, err := web.CampaignInPath(s.begun)(p)
	if err == nil {
		err = pauseRefused(p, s.Controls.MayPause(c))
	}
	return c, err
}

// pauseRefused is refused, with the texts of a pause where they differ.
func pauseRefused(p *web.Page, err error) error {
	if refusal := p.Problem("campaigns.pause_problem.", err); refusal != nil {
		return refusal
	}
	return refused(p, err)
}

func (s *Pages) pause(p *web.Page, c campaign.Campaign) error {
	return s.setPause(p, c, "pause", c.PausedAt.IsZero(), s.Controls.Pause)
}

func (s *Pages) resume(p *web.Page, c campaign.Campaign) error {
	return s.setPause(p, c, "resume", !c.PausedAt.IsZero(), s.Controls.Resume)
}

// setPause pauses or resumes a campaign. A form that is sent twice has one audit entry.
func (s *Pages) setPause(
	p *web.Page, c campaign.Campaign, action string, changes bool, do func(context.Context, campaign.ID) (campaign.Campaign, error),
) error {
	if changes {
		if err := p.AuditOn(pathOf(c), "campaign."+action, c.Name); err != nil {
			return err
		}
	}
	defer s.large.Drop(c.ID)
	if _, err := do(p.R.Context(), c.ID); err != nil {
		return pauseRefused(p, err)
	}
	return p.Done(pathOf(c), "campaigns.done."+action, c.Name)
}
