package sending

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"campaign-dispatch/internal/base/inputerr"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/rollout"
	"campaign-dispatch/internal/rollout/bucket"
)

// The values of the field "plan".
const (
	atOnce  = "once"
	inWaves = "waves"
)

// steps are the ends of the waves after the first one: a tenth, a quarter, half and all of the people.
var steps = []int{bucket.Count / 10, bucket.Count / 4, bucket.Count / 2, bucket.Count}

// pauses are the times between two waves among which a person chooses.
var pauses = []time.Duration{
	15 * time.Minute, time.Hour, 4 * time.Hour, 12 * time.Hour, 24 * time.Hour, 48 * time.Hour, 72 * time.Hour,
}

// wavesForm is the form that changes the waves of a campaign, with what was entered.
type wavesForm struct {
	Entered bool   // by a person whose form is refused
	Plan    string // atOnce or inWaves
	First   string // the end of the first wave
	Pause   string
	Firsts  []size
	Steps   []step
	Faults  map[string]string // keys of texts by field
}

// size is the end of a wave, with the people until there.
type size struct {
	Until, People int
}

// Value returns the size as the value of a field.
func (s size) Value() string { return strconv.Itoa(s.Until) }

// step is a wave after the first one.
type step struct {
	size

	Chosen    bool
	NotBefore string
}

// Last reports whether the step is the last wave, which no plan lacks.
func (s step) Last() bool { return s.Until == bucket.Count }

// Field returns the name of the field of the time before which the wave does not go.
func (s step) Field() string { return "notBefore-" + s.Value() }

// Pauses returns the choices of a pause.
func (wavesForm) Pauses() []time.Duration { return pauses }

// PauseText returns a pause in words.
func (wavesForm) PauseText(p *web.Page, d time.Duration) string { return pauseText(p, d) }

// Fault returns the key of the text why a field is refused, or "".
func (f wavesForm) Fault(field string) string { return f.Faults[field] }

func (f *wavesForm) fault(field, key string) {
	if f.Faults == nil {
		f.Faults = map[string]string{}
	}
	f.Faults[field] = key
}

// offers returns the form with the sizes of a file. The people are those who are sent a message.
func offers(sub submission.Submission) (f wavesForm) {
	ends := rollout.Firsts(sub.Check.People())
	if sub.Plan.InWaves() && !slices.ContainsFunc(ends, func(w rollout.Wave) bool { return w.Until == sub.Plan.Waves[0].Until }) {
		ends = append([]rollout.Wave{sub.Plan.Waves[0]}, ends...)
	}
	for _, w := range ends {
		f.Firsts = append(f.Firsts, sizeOf(sub, w.Until))
	}
	for _, until := range steps {
		f.Steps = append(f.Steps, step{size: sizeOf(sub, until), Chosen: until == bucket.Count})
	}
	return f
}

// sizeOf returns the people until the end of a wave.
func sizeOf(sub submission.Submission, until int) size {
	of := size{Until: until}
	for n, cell := range sub.Check.Cells {
		if rollout.Until(n) <= until {
			of.People += cell.Accepted - cell.Withheld
		}
	}
	return of
}

// formOfPlan returns the form with the plan of a campaign, or with the proposed one for a campaign that goes at once.
func formOfPlan(p *web.Page, sub submission.Submission) wavesForm {
	f := offers(sub)
	f.Plan = atOnce
	plan := sub.Plan
	if plan.InWaves() {
		f.Plan = inWaves
	} else {
		plan = rollout.Proposed(sub.Check.People())
	}
	f.Pause = cmp.Or(plan.Soak, rollout.ProposedSoak).String()
	for n, w := range plan.Waves {
		if n == 0 {
			f.First = strconv.Itoa(w.Until)
			continue
		}
		f.setStep(w, p)
	}
	return f
}

func (f *wavesForm) setStep(w rollout.Wave, p *web.Page) {
	for n := range f.Steps {
		if s := &f.Steps[n]; s.Until == w.Until {
			s.Chosen = true
			if !w.NotBefore.IsZero() {
				s.NotBefore = p.Local(w.NotBefore)
			}
		}
	}
}

// enteredWaves returns the form as a person has filled it in.
func enteredWaves(p *web.Page, sub submission.Submission) wavesForm {
	f := offers(sub)
	f.Entered = true
	f.Plan, f.First, f.Pause = p.Field("plan"), p.Field("first"), p.Field("pause")
	for n := range f.Steps {
		s := &f.Steps[n]
		s.Chosen = s.Last() || p.Field("until-"+s.Value()) != ""
		s.NotBefore = web.Short(p.Field(s.Field()), maxChosen)
	}
	return f
}

// plan returns the plan that the form asks for, and notes what is wrong with it.
func (f *wavesForm) plan(now time.Time) (plan rollout.Plan) {
	if f.Plan == atOnce {
		return plan
	}
	if f.Plan != inWaves {
		f.fault("plan", "sending.wave_choose")
	}
	at := slices.IndexFunc(f.Firsts, func(s size) bool { return s.Value() == f.First })
	if at < 0 {
		f.fault("first", "sending.wave_choose")
		return plan
	}
	if plan.Soak, _ = time.ParseDuration(f.Pause); !slices.Contains(pauses, plan.Soak) {
		f.fault("pause", "sending.wave_choose")
	}
	plan.Waves = []rollout.Wave{{Until: f.Firsts[at].Until}}
	for _, s := range f.Steps {
		notBefore := f.notBefore(s, now)
		switch {
		case s.Chosen && s.Until > f.Firsts[at].Until:
			plan.Waves = append(plan.Waves, rollout.Wave{Until: s.Until, NotBefore: notBefore})
		case s.NotBefore != "":
			f.fault(s.Field(), "sending.wave_time_unused")
		}
	}
	return plan
}

// notBefore returns the time before which a wave does not go, zero for none, and notes what is wrong with it.
func (f *wavesForm) notBefore(s step, now time.Time) (at time.Time) {
	if s.NotBefore == "" {
		return at
	}
	at, err := localtime.Parse(s.NotBefore)
	switch {
	case err != nil:
		f.fault(s.Field(), "sending.wave_time_wrong")
	case at.Before(now):
		f.fault(s.Field(), "sending.wave_time_passed")
	}
	return at
}

// changeWaves sets the waves of a checked campaign. Who sees an older page sees the new one first.
func (s *Pages) changeWaves(p *web.Page, sub submission.Submission) error {
	if sub.State != submission.StateReady || !sub.Check.Divided() {
		return p.Redirect(pathOf(sub))
	}
	if p.Field("hash") != sub.Shown() {
		return s.olderWaves(p, sub)
	}
	f := enteredWaves(p, sub)
	plan := f.plan(s.Now())
	if len(f.Faults) > 0 {
		return s.wavesRefused(p, sub, f)
	}
	err := s.Intake.SetPlan(p.R.Context(), sub, plan)
	if _, wrong := errors.AsType[*inputerr.Error](err); wrong {
		f.fault("first", "sending.wave_empty")
		return s.wavesRefused(p, sub, f)
	}
	switch {
	case errors.Is(err, intake.ErrState):
		return p.Redirect(pathOf(sub))
	case errors.Is(err, campaign.ErrLostRace):
		return s.overtaken(p)
	case err != nil:
		return err
	}
	return p.Done(pathOf(sub), "sending.waves_saved", sub.Name)
}

// wavesRefused shows the form again with what is wrong. Nothing was changed.
func (s *Pages) wavesRefused(p *web.Page, sub submission.Submission, f wavesForm) error {
	return s.renderView(p, http.StatusUnprocessableEntity, view{Submission: sub, Notice: "sending.waves_wrong", Form: f})
}

// overtaken shows what somebody else has saved meanwhile.
func (s *Pages) overtaken(p *web.Page) error {
	sub, err := s.inPath(p)
	if err != nil {
		return err
	}
	if sub.State != submission.StateReady {
		return p.Redirect(pathOf(sub))
	}
	return s.olderWaves(p, sub)
}

// olderWaves shows the form of an older page again, with what was entered. The waves of a form that was sent twice are saved
// already.
func (s *Pages) olderWaves(p *web.Page, sub submission.Submission) error {
	f := enteredWaves(p, sub)
	if plan := f.plan(s.Now()); len(f.Faults) == 0 && slices.Equal(plan.Terms(), sub.Plan.Terms()) {
		return p.Done(pathOf(sub), "sending.waves_saved", sub.Name)
	}
	return s.renderView(p, http.StatusConflict, view{Submission: sub, Notice: "submission.look_again", Form: f})
}
