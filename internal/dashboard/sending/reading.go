package sending

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/review"
	"campaign-dispatch/internal/intake/submission"
)

// addReview adds what was left out of the file, and what can be chosen about it. Only authors see the numbers.
func (s *Pages) addReview(p *web.Page, v *view) error {
	f := v.Check.Findings
	names, err := s.listNames(p, f)
	if err != nil {
		return err
	}
	source := review.Source{Findings: f, Lists: names}
	v.OnLists = source.OnLists()
	if p.Author() && f.ToDownload() > 0 {
		source.Download = func(of url.Values) string { return leftOutPath(v.Submission, of) }
		if source.First, err = s.Intake.FirstLines(p.R.Context(), v.Submission, submission.MaxShown); err != nil {
			return err
		}
	}
	words, err := s.Intake.Words(p.R.Context(), v.Submission)
	if err != nil {
		return err
	}
	v.Words = review.Joined(words)
	v.Review, v.Noted = review.New(p, source), review.Noted(p, source)
	v.Choices = review.NewChoices(v.Reading, v.Columns.Sheets, v.Columns.Encodings, source)
	if v.Correctable() && p.Author() {
		v.Correct = review.Corrections(p, v.Reading, source.First)
	}
	return nil
}

func leftOutPath(sub submission.Submission, of url.Values) string {
	path := pathOf(sub) + "/left-out"
	if len(of) > 0 {
		path += "?" + of.Encode()
	}
	return path
}

// Correctable reports whether a person may still say how the file is read.
func (v view) Correctable() bool { return v.State == submission.StateReady }

// SheetRead returns the sheet that was read, if there are others.
func (v view) SheetRead() string {
	if len(v.Columns.Sheets) < 2 {
		return ""
	}
	return v.Columns.Sheet
}

// Braced returns the name of a variable as in a template.
func (view) Braced(name string) string { return "{{" + name + "}}" }

// chooseReading reads the file again, as a person has chosen. Who sees an older page sees the new one first.
func (s *Pages) chooseReading(p *web.Page, sub submission.Submission) error {
	if !sub.Editable() {
		return p.Redirect(pathOf(sub))
	}
	if p.Stale(strconv.Itoa(sub.Version)) {
		return s.render(p, http.StatusConflict, sub, "submission.look_again")
	}
	reading, wrong := review.Changed(p, sub.Reading)
	switch {
	case !sub.Offers(reading):
		return web.BadForm()
	case wrong:
		return s.render(p, http.StatusUnprocessableEntity, sub, "review.correct_wrong")
	case reading.Undecided(sub.Columns):
		return s.render(p, http.StatusUnprocessableEntity, sub, "review.choose")
	case review.Same(reading, sub.Reading):
		return p.Redirect(pathOf(sub))
	}
	return s.readAgain(p, sub, reading)
}

func (s *Pages) readAgain(p *web.Page, sub submission.Submission, reading submission.Reading) error {
	t, err := s.template(p, sub.TemplateID)
	if err != nil && !errors.Is(err, campaign.ErrNotFound) {
		return err
	}
	if err := s.Intake.Read(p.R.Context(), sub, reading, t); err != nil {
		return err
	}
	return p.Redirect(pathOf(sub))
}
