package campaigns

import (
	"errors"
	"net/http"
	"strconv"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/intake/submission"
)

const maxReason = 1000 // bytes

// openWave opens the next wave of a campaign. A form that is sent twice opens it once.
func (s *Pages) openWave(p *web.Page, c campaign.Campaign) error {
	number, err := strconv.Atoi(p.Field("wave"))
	if err != nil || number < 2 || number > c.Submission.Cells.Waves() {
		return web.BadForm()
	}
	reason := web.Short(p.Field("reason"), maxReason)
	if reason == "" {
		p.R.URL.Path = pathOf(c) // that of the page, for its links
		return s.showWith(p, http.StatusUnprocessableEntity, c, waveForm{Fault: "campaigns.wave_reason_missing"})
	}
	sub, err := s.Waves.Submission(p.R.Context(), c.ID)
	if err != nil {
		return err
	}
	people := sub.OfWave(number).Accepted
	early, audited := p.Field("early") == "yes", "campaigns.wave_audited"
	if early {
		audited = "campaigns.wave_audited_early"
	}
	detail := web.Said(audited, web.AuditNumber(number), web.AuditNumber(people), web.AuditFree(reason))
	defer s.large.Drop(c.ID)
	sub, err = s.Waves.Decide(p.R.Context(), intake.Step{
		ID: c.ID, Choice: intake.OpenWave, Wave: number, Early: early, Reason: reason, Audit: p.AuditEntry(pathOf(c), "rollout.open", c.Name, detail),
	})
	if errors.Is(err, intake.ErrPauseRuns) {
		p.R.URL.Path = pathOf(c)
		return s.showWith(p, http.StatusUnprocessableEntity, c, waveForm{EarlyFault: true, Reason: reason})
	}
	if err != nil {
		return waveRefused(p, c, sub, err)
	}
	return p.Done(pathOf(c), "campaigns.done.wave", p.Number(number), p.Number(people))
}

// waveRefused says why a wave was not opened.
func waveRefused(p *web.Page, c campaign.Campaign, sub submission.Submission, err error) error {
	refusal := &web.Refusal{Status: http.StatusConflict, To: pathOf(c), ToKey: "campaigns.back"}
	switch {
	case errors.Is(err, intake.ErrTooEarly):
		refusal.Key, refusal.Args = "campaigns.wave_problem.early", []any{p.When(intake.OpensFrom(sub))}
	case errors.Is(err, intake.ErrPaused):
		refusal.Key, refusal.To, refusal.ToKey = "campaigns.wave_problem.paused", pathOf(c)+"/resume", "campaigns.resume"
	case errors.Is(err, intake.ErrScheduleMissed):
		refusal.Key, refusal.Args = "campaigns.wave_problem.over", []any{p.When(sub.FilesUntil())}
	case errors.Is(err, campaign.ErrLostRace):
		refusal.Key = "campaigns.problem.campaign_changed"
	case errors.Is(err, intake.ErrState):
		refusal.Key = stateProblem(c, sub)
	default:
		return err
	}
	return refusal
}

// stateProblem returns the key of why a wave of a submission in another state cannot be opened.
func stateProblem(c campaign.Campaign, sub submission.Submission) string {
	switch {
	case !c.CancelledAt.IsZero():
		return "campaigns.problem.campaign_cancelled"
	case sub.State == submission.StateDiscarded:
		return "campaigns.wave_problem.discarded"
	case sub.State == submission.StateInterrupted:
		return "campaigns.wave_problem.stopped"
	case sub.State == submission.StateSending:
		return "campaigns.wave_problem.sending"
	}
	return "campaigns.problem.campaign_changed"
}

type stopPage struct {
	campaign.Campaign

	ToCome int // people who get nothing
}

// askStop asks whether the rest of a campaign in waves is to be discarded.
func (s *Pages) askStop(p *web.Page, c campaign.Campaign) error {
	if c.Submission.Holding() == 0 || !c.CancelledAt.IsZero() {
		return &web.Refusal{Status: http.StatusConflict, Key: "campaigns.wave_problem.nothing", To: pathOf(c), ToKey: "campaigns.back"}
	}
	return p.Render("campaigns.wave_stop", "campaigns_waves_stop.html", stopPage{c, c.Submission.ToCome()})
}
