package intake

import (
	"context"
	"errors"
	"time"

	"campaign-dispatch/internal/base/inputerr"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/internal/rollout"
)

// PlannedWave is a wave of a campaign that is not confirmed, as it would go if each wave is opened as early as its plan says.
type PlannedWave struct {
	rollout.Wave
	submission.Cell // what its parts have

	rollout.Start

	Number   int            // from 1
	CannotGo int            // people for whom no hours are left before the messages may not go any more
	Price    campaign.Money // of the messages that are sent, 0 without prices
	TooLate  bool           // it goes after the time until which its messages may go
	TooLong  bool           // it goes after the time for which its parts are kept
}

// People returns the number of people who are sent a message.
func (r PlannedWave) People() int { return r.Accepted - r.Withheld }

// PlannedWaves returns the waves of a checked campaign, none for one that goes at once.
func (s *Service) PlannedWaves(ctx context.Context, sub submission.Submission) ([]PlannedWave, error) {
	if !sub.Plan.InWaves() {
		return nil, nil
	}
	hours, err := s.hours(ctx, sub)
	if err != nil {
		return nil, err
	}
	billing, err := s.Rules.Billing(ctx, sub.Tenant)
	if err != nil {
		return nil, err
	}
	var waves []PlannedWave
	now := s.Now()
	for n, start := range starts(sub, hours, now) {
		r := PlannedWave{Wave: sub.Plan.Waves[n], Cell: sub.OfWave(n + 1), Start: start, Number: n + 1}
		_, r.CannotGo = hours.Plan(hours.InZones(r.Zones), r.Goes, sub.Until())
		r.Price = billing.Cost(r.Sent)
		r.TooLate, r.TooLong = late(sub, r.Start, now)
		waves = append(waves, r)
	}
	return waves, nil
}

// starts returns when each wave goes at the earliest.
func starts(sub submission.Submission, hours reach.Hours, now time.Time) []rollout.Start {
	zones := zonesOf(sub.Check.Findings.Zones)
	return sub.Plan.Starts(sub.DueFrom(now), func(at time.Time) time.Time { return hours.FirstOpens(zones, at) })
}

// late reports whether a wave would go after the time until which its messages may go, and after the time for which its parts
// are kept.
func late(sub submission.Submission, start rollout.Start, now time.Time) (tooLate, tooLong bool) {
	until := sub.Until()
	tooLate = !until.IsZero() && start.Goes.After(campaign.LastSend(until))
	return tooLate, start.Goes.Sub(sub.DueFrom(now)) >= rollout.MaxDuration
}

func zonesOf(people map[window.Zone]int) (zones window.Set) {
	for zone := range people {
		zones = zones.With(zone)
	}
	return zones
}

// ResultsFrom returns when the results of the last opened wave have had the time that the plan gives them: it begins when
// the first message of the wave may go.
func (s *Service) ResultsFrom(ctx context.Context, sub submission.Submission) (time.Time, error) {
	hours, err := s.hours(ctx, sub)
	if err != nil || sub.Sending.Wave() == 0 {
		return time.Time{}, err
	}
	wave := sub.Sending.Wave()
	begun := campaign.Later(sub.Sending.Waves[wave-1].At, sub.Due())
	return hours.FirstOpens(zonesOf(sub.OfWave(wave).Zones), begun).Add(sub.Plan.Soak), nil
}

// booking are messages that the budget books by the hours that follow a time.
type booking struct {
	at      time.Time
	classes submission.Bookings
}

// bookings returns what a campaign books: of each wave by itself, or all at once.
func bookings(sub submission.Submission, hours reach.Hours, now time.Time) []booking {
	if !sub.Plan.InWaves() {
		return []booking{{sub.DueFrom(now), sub.Check.Findings.Booked()}}
	}
	var all []booking
	for n, start := range starts(sub, hours, now) {
		all = append(all, booking{start.Goes, sub.OfWave(n + 1).ByZones})
	}
	return all
}

// isLate reports whether the last wave of a checked campaign would go too late.
func (s *Service) isLate(ctx context.Context, sub submission.Submission) (bool, error) {
	if !sub.Plan.InWaves() {
		return false, nil
	}
	hours, err := s.hours(ctx, sub)
	if err != nil {
		return false, err
	}
	now := s.Now()
	all := starts(sub, hours, now)
	tooLate, tooLong := late(sub, all[len(all)-1], now)
	return tooLate || tooLong, nil
}

// SetPlan sets the waves of a checked campaign that nobody has confirmed, or makes it go at once. A plan that is not one of
// its file returns a *inputerr.Error.
func (s *Service) SetPlan(ctx context.Context, sub submission.Submission, plan rollout.Plan) error {
	if sub.State != submission.StateReady {
		return ErrState
	}
	if err := plan.Check(sub.Check.People()); err != nil {
		return &inputerr.Error{Code: "plan", Detail: err.Error()}
	}
	sub.Plan = plan
	_, err := s.Store.SaveSubmission(ctx, sub)
	return err
}

// open opens the next wave.
func (d *decision) open(now time.Time) {
	opened := submission.Opened{At: now, By: d.Audit.Who}
	if d.sub.Sending.Wave() > 0 {
		opened.Reason, opened.Early, d.sub.Sending.RestAtOnce = d.Reason, d.Early, true
	}
	d.sub.Sending.Waves = append(d.sub.Sending.Waves[:d.sub.Sending.Wave():d.sub.Sending.Wave()], opened)
}

// openWave opens the next wave of a campaign whose wave before is dispatched. A wave that is open already is not opened
// again.
func (s *Service) openWave(ctx context.Context, d *decision) error {
	sub := d.sub
	switch {
	case d.Wave > 1 && d.Wave <= sub.Sending.Wave():
		return errRepeated
	case sub.State != submission.StateHolding || d.Wave != sub.NextWave():
		return ErrState
	case s.Now().Before(OpensFrom(sub)):
		return ErrTooEarly
	case !s.Now().Before(sub.FilesUntil()):
		return ErrScheduleMissed
	}
	if err := errors.Join(s.runs(ctx, sub.ID), s.pauseEnded(ctx, d)); err != nil {
		return err
	}
	d.sub.State = submission.StateSending
	d.open(s.Now())
	return nil
}

// pauseEnded returns ErrPauseRuns while the results of the wave before arrive, unless the person knows. Early is then true
// only if they do.
func (s *Service) pauseEnded(ctx context.Context, d *decision) error {
	from, err := s.ResultsFrom(ctx, d.sub)
	if err != nil {
		return err
	}
	runs := s.Now().Before(from)
	if runs && !d.Early {
		return ErrPauseRuns
	}
	d.Early = runs
	return nil
}

// OpensFrom returns the earliest time at which a person can open the next wave of a campaign: that of the wave, or of the
// campaign if it is later.
func OpensFrom(sub submission.Submission) time.Time {
	if next := sub.NextWave(); next > 0 {
		return campaign.Later(sub.Due(), sub.Plan.Waves[next-1].NotBefore)
	}
	return sub.Due()
}

// runs returns ErrState for a cancelled campaign, and ErrPaused for a paused one.
func (s *Service) runs(ctx context.Context, id campaign.ID) error {
	standings, err := s.Store.Standings(ctx, id.Tenant, []string{id.CampaignID})
	if err != nil {
		return err
	}
	switch standing := standings[id.CampaignID]; {
	case !standing.CancelledAt.IsZero():
		return ErrState
	case !standing.PausedAt.IsZero():
		return ErrPaused
	}
	return nil
}
