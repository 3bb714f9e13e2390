package sending

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/intake/submission"
)

// plannedWave is a wave of a campaign that is not confirmed, with when its messages go at the earliest.
type plannedWave struct {
	intake.PlannedWave
	starting

	Booked []string // the dates in whose budgets its parts are booked
}

// peopleByZone returns the people of a campaign by zone. Those of a campaign in waves are in the open wave, or in the first one.
func peopleByZone(sub submission.Submission) map[window.Zone]int {
	if sub.Plan.InWaves() {
		return sub.OfWave(max(1, sub.Sending.Wave())).Zones
	}
	return sub.Check.Findings.Zones
}

// WavesShown reports whether the page shows the waves, or that there are none.
func (v view) WavesShown() bool { return v.Check.Divided() && v.State != submission.StateInterrupted }

// addWaves adds the waves of a campaign that is not confirmed, and the form that changes them.
func (s *Pages) addWaves(p *web.Page, v *view) (err error) {
	if !v.WavesShown() {
		return nil
	}
	if !v.Form.Entered {
		v.Form = formOfPlan(p, v.Submission)
	}
	if !v.Plan.InWaves() {
		return nil
	}
	planned, err := s.Intake.PlannedWaves(p.R.Context(), v.Submission)
	if err != nil {
		return err
	}
	v.addPlanned(planned)
	v.TooLong = v.tooLong(p)
	return nil
}

// addPlanned adds the waves, each with its openings.
func (v *view) addPlanned(planned []intake.PlannedWave) {
	v.CannotGo = 0
	for _, of := range planned {
		r := plannedWave{PlannedWave: of}
		r.due = of.Due
		plan, _ := v.hours.Plan(v.hours.InZones(of.Zones), r.due, v.Until)
		r.plan(v.hours, plan)
		booked := v.hours.BookedOn(of.Goes)
		for zones := range of.ByZones {
			r.Booked = append(r.Booked, booked(zones))
		}
		v.PlannedWaves = append(v.PlannedWaves, r)
		v.CannotGo += of.CannotGo
	}
}

// tooLong says which wave would go too late, and what can be changed. It is "" if none would.
func (v view) tooLong(p *web.Page) string {
	for _, r := range v.PlannedWaves {
		if r.TooLate {
			return p.T("sending.waves_too_late", p.Number(r.Number), p.When(r.Goes), p.When(v.Until))
		}
		if r.TooLong {
			return p.T("sending.waves_too_long", p.Number(r.Number), p.When(r.Goes))
		}
	}
	return ""
}

// Others returns the people of all waves but the first one.
func (v view) Others() (n int) {
	for _, r := range v.PlannedWaves[1:] {
		n += r.People()
	}
	return n
}

// Before returns the number of the wave before.
func (r plannedWave) Before() int { return r.Number - 1 }

// Pause returns the time between two waves in words.
func (v view) Pause(p *web.Page) string { return pauseText(p, v.Plan.Soak) }

func pauseText(p *web.Page, d time.Duration) string {
	if d%time.Hour == 0 {
		return p.Count("sending.pause_hours", int(d/time.Hour))
	}
	return p.Count("sending.pause_minutes", int(d/time.Minute))
}

// WavesOn returns the waves that are booked on a date in words, "" without waves.
func (v view) WavesOn(p *web.Page, date string) string {
	var numbers []string
	for _, r := range v.PlannedWaves {
		if slices.Contains(r.Booked, date) {
			numbers = append(numbers, strconv.Itoa(r.Number))
		}
	}
	last := len(numbers) - 1
	switch {
	case last < 0:
		return ""
	case last == 0:
		return p.T("sending.wave_booked", numbers[0])
	}
	return p.T("sending.waves_booked", p.T("ui.and", strings.Join(numbers[:last], ", "), numbers[last]))
}

// Booked returns the budgets in which the campaign is booked. The rest of a campaign in waves is booked as each wave goes.
func (v view) Booked() []campaign.BudgetFigures {
	if v.Open.Number > 0 {
		return nil
	}
	return v.Quote.Budgets
}

// NoRoom returns the date whose budget has no room for a wave, "" if there is none or the campaign goes at once.
func (v view) NoRoom() string {
	if full, found := v.Quote.Full(); found && len(v.PlannedWaves) > 0 {
		return full.Date
	}
	return ""
}

// openWave is the wave that was opened last of a campaign in waves. It is zero for another campaign, or before the
// confirmation.
type openWave struct {
	Number, Of   int
	People, Left int // all people of the wave, and those who are not dispatched
	Parts, Done  int // all parts of the wave, and those that are dispatched
	Later        int // the people of the waves that nobody has opened
}

func openOf(sub submission.Submission) openWave {
	number := sub.Sending.Wave()
	if number == 0 {
		return openWave{}
	}
	of := sub.OfWave(number)
	o := openWave{Number: number, Of: len(sub.Plan.Waves), People: of.Accepted, Parts: of.Parts, Later: sub.PeopleAfter(number)}
	o.Left = sub.Totals().NotAccepted() - o.Later
	o.Done = sub.Sending.Parts - (sub.PartsOpen() - of.Parts)
	return o
}

// left returns the number of messages that are still to be sent, of a campaign in waves those of the open wave.
func (v view) left() int {
	if v.Open.Number > 0 {
		return v.Open.Left
	}
	return v.Totals().NotAccepted()
}

// progress is how far a function is with a submission.
type progress struct {
	submission.Submission

	Open openWave
}

// Progress returns how far a function is with the submission.
func (v view) Progress() progress { return progress{v.Submission, v.Open} }
