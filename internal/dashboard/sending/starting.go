package sending

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/reach"
)

// starting is when the messages of a campaign go that is not sent yet.
type starting struct {
	// Starts is when the first message goes: at the schedule, or when the sending hours begin. It is zero for at once.
	Starts   time.Time
	Later    bool             // nothing goes at the schedule, or at once
	Holidays []window.Holiday // on which nothing is sent before

	due    time.Time // of the messages: the schedule, or now
	groups []reach.Group
	hours  reach.Hours
}

// addHours adds when the messages go. Those of a campaign in waves are the ones of the open wave, or of the first one.
func (s *Pages) addHours(p *web.Page, v *view) error {
	v.Starts = v.Due()
	stored, err := s.Store.TenantHours(p.R.Context(), p.Session.Tenant)
	if err != nil {
		return err
	}
	hours := stored.HoursFor(v.Template.Traffic, nil)
	if !hours.Limited() {
		return nil
	}
	v.due, v.hours = v.DueFrom(s.Now()), hours
	plan, cannotGo := hours.Plan(hours.InZones(peopleByZone(v.Submission)), v.due, v.Until)
	v.CannotGo = cannotGo
	v.plan(hours, plan)
	return nil
}

// plan adds the openings of the sending hours.
func (s *starting) plan(hours reach.Hours, plan []reach.Opening) {
	if s.groups = reach.Groups(plan); len(s.groups) > 0 && s.groups[0].OpensAt.After(s.due) {
		s.Starts, s.Later = s.groups[0].OpensAt, true
	}
	s.Holidays = hours.Skipped(plan, s.due)
}

// Openings returns when the people of each time zone get their message, nothing if all of them get it when it is due.
func (s starting) Openings(p *web.Page) []string {
	if !slices.ContainsFunc(s.groups, func(g reach.Group) bool { return !g.OpensAt.Equal(s.due) }) {
		return nil
	}
	if s.Starts.IsZero() {
		return p.Openings(s.groups, s.due, s.due)
	}
	return p.Openings(s.groups, s.Starts, time.Time{})
}

// asShown takes a step that sends a campaign, if it goes when the page showed it. Otherwise the page shows when it goes
// now: its sending hours have changed, or have ended.
func (s *Pages) asShown(p *web.Page, sub submission.Submission, step func() error) error {
	v := view{Submission: sub}
	if !v.Reviewed() {
		return step()
	}
	if err := s.addStart(p, &v); errors.Is(err, campaign.ErrNotFound) { // the step refuses a campaign without a template
		return step()
	} else if err != nil {
		return err
	}
	if v.goesAt(shownStart(p), s.Now()) {
		return step()
	}
	return s.render(p, http.StatusConflict, sub, "submission.look_again")
}

func (s *Pages) addStart(p *web.Page, v *view) (err error) {
	v.Until, _ = localtime.Parse(v.NotAfter) // invalid times are refused before
	if v.Template, err = s.templateOf(p, v.Submission); err != nil {
		return err
	}
	return s.addHours(p, v)
}

// goesAt reports whether the first message goes when a page showed it: at the beginning of the sending hours, or with a zero
// time at the schedule or at once. Hours that begin later than the page was shown have begun by then.
func (s starting) goesAt(shown, now time.Time) bool {
	if s.Later {
		return shown.Equal(s.Starts)
	}
	return !shown.After(now)
}

// shownStart returns when the hours begin by the page, zero if nothing waits for them.
func shownStart(p *web.Page) time.Time {
	at, _ := time.Parse(time.RFC3339, p.Field("starts"))
	return at
}

// sent says what the confirmation of a campaign did: it was sent, or scheduled for the time that the page showed.
func (s *Pages) sent(p *web.Page, sub submission.Submission) error {
	if starts := s.confirmed(p, sub); !starts.IsZero() {
		return p.Done(pathOf(sub), "sending.scheduled", sub.Name, p.When(starts))
	}
	if wave := sub.Sending.Wave(); wave > 0 {
		return p.Done(pathOf(sub), "sending.wave_started", sub.Name, p.Number(wave))
	}
	return p.Done(pathOf(sub), "sending.started", sub.Name)
}

// confirmed returns when the first message goes, as the page showed it to who confirms the campaign. It is zero for at once.
func (s *Pages) confirmed(p *web.Page, sub submission.Submission) time.Time {
	if shown := shownStart(p); shown.After(s.Now()) {
		return shown
	}
	return sub.Due()
}
