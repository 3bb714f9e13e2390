package campaigns

import (
	"net/http"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
)

type movePage struct {
	campaign.Campaign
	departure

	Value   string // of the field: a date and time in São Paulo
	Refusal *web.Refusal
}

// departure is when the waiting messages of a campaign go out, and how many they are. The
// times differ only if the API scheduled them for different times.
type departure struct {
	People      int
	First, Last time.Time
	NotAfter    time.Time // the earliest, zero if there is none
}

func departureOf(c campaign.Campaign) (d departure) {
	for _, b := range c.Waiting() {
		d.People += b.Accepted
		if d.First.IsZero() || b.Due.Before(d.First) {
			d.First = b.Due
		}
		if b.Due.After(d.Last) {
			d.Last = b.Due
		}
		if !b.NotAfter.IsZero() && (d.NotAfter.IsZero() || b.NotAfter.Before(d.NotAfter)) {
			d.NotAfter = b.NotAfter
		}
	}
	if d.People > 0 {
		d.People += c.Submission.ToCome()
	}
	return d
}

func (d departure) Same() bool { return d.First.Equal(d.Last) }

func movable(c campaign.Campaign) bool {
	return c.CancelledAt.IsZero() && !c.Started() && len(c.Waiting()) > 0
}

// mayChangeTime refuses a new time of an approved campaign: who approved it has seen its time.
// Another admin than the one who asked may change it. It also refuses one of a campaign whose first
// part is not accepted yet.
func mayChangeTime(p *web.Page, c campaign.Campaign) error {
	if c.Unsent() {
		return &web.Refusal{Status: http.StatusConflict, Key: "campaigns.problem.campaign_not_accepted"}
	}
	if c.AskedBy == "" || p.Session.Role == web.RoleAdmin && c.AskedBy != p.Session.Email {
		return nil
	}
	return &web.Refusal{Status: http.StatusForbidden, Key: "campaigns.problem.approved", To: pathOf(c), ToKey: "campaigns.back"}
}

func (s *Pages) askMove(p *web.Page, c campaign.Campaign) error {
	if !movable(c) {
		return immovable(p, c)
	}
	d := departureOf(c)
	return p.Render("campaigns.move_title", "campaigns_move.html", movePage{Campaign: c, departure: d, Value: p.Local(d.First)})
}

// immovable says why a campaign cannot be rescheduled, and how many people have the message.
func immovable(p *web.Page, c campaign.Campaign) error {
	refusal := &web.Refusal{
		Status: http.StatusConflict, Key: "campaigns.problem.campaign_cancelled", To: pathOf(c), ToKey: "campaigns.back",
	}
	if !c.CancelledAt.IsZero() {
		return refusal
	}
	reached := 0
	for _, b := range c.Batches {
		reached += b.Head.Counts[campaign.OutcomeSent] + b.Head.DayCounts().Delivered
	}
	refusal.Key, refusal.Args = "campaigns.problem.campaign_started", []any{p.Number(reached)}
	return refusal
}

func (s *Pages) move(p *web.Page, c campaign.Campaign) error {
	due, err := s.Controls.MayRescheduleCampaign(p.R.Context(), c, p.Field("schedule"), p.Field("plan"))
	if err == nil && !c.WaitsFor(due) { // a form that is sent twice changes nothing
		err = s.moveTo(p, c, due)
	}
	if err != nil {
		return s.moveRefused(p, c, err)
	}
	return p.Done(pathOf(c), "campaigns.moved", c.Name, p.When(due))
}

func (s *Pages) moveTo(p *web.Page, c campaign.Campaign, due time.Time) error {
	if err := p.AuditOn(pathOf(c), "campaign.move", c.Name, web.Moved(departureOf(c).First, due)); err != nil {
		return err
	}
	defer s.large.Drop(c.ID)
	_, err := s.Controls.RescheduleCampaign(p.R.Context(), c.ID, p.Field("schedule"), p.Field("plan"))
	return err
}

// moveRefused shows the form again with the campaign as it is now, and with what was entered.
func (s *Pages) moveRefused(p *web.Page, c campaign.Campaign, err error) error {
	refusal, ok := refusalOf(p, err)
	if !ok {
		return err
	}
	now, err := s.Store.Overview(p.R.Context(), c.ID)
	if err != nil {
		return err
	}
	if !movable(now) {
		return immovable(p, now)
	}
	return p.RenderStatus(refusal.Status, "campaigns.move_title", "campaigns_move.html", movePage{
		Campaign: now, departure: departureOf(now), Value: p.Field("schedule"), Refusal: refusal,
	})
}
