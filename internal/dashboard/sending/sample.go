package sending

import (
	"errors"
	"math/rand/v2"
	"strconv"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/preview"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/intake/submission"
)

// sample is the preview of a person's message.
type sample struct {
	Path                string
	Phone               preview.Phone
	Cut                 bool // the preview is cut
	None                bool // there is no message at the position
	Trial               web.Trial
	At, Of              int // position from 1, and the number of messages
	Prior, Next, Random int
}

// phoneWeight is the size in bytes of a message's texts.
const phoneWeight = 4000

// sample returns the preview that the parameter "person" chooses, the first one without it. An
// invalid position wraps campaign.ErrNotFound.
func (s *Pages) sample(p *web.Page, sub submission.Submission) (shown sample, err error) {
	shown = sample{Path: pathOf(sub), At: 1, Of: sub.Check.Findings.Accepted + sub.Check.Findings.Invalid()}
	if text := p.Query("person"); text != "" {
		if shown.At, err = strconv.Atoi(text); err != nil || shown.At < 1 || shown.At > shown.Of {
			return shown, campaign.ErrNotFound
		}
	}
	of := max(1, shown.Of)
	shown.Prior, shown.Next = shown.At-1, shown.At%of+1
	shown.Random = (shown.At+rand.IntN(max(1, of-1)))%of + 1 //nolint:gosec // nobody gains from guessing it
	line, vars, err := s.Intake.Message(p.R.Context(), sub, shown.At-1)
	if errors.Is(err, campaign.ErrNotFound) { // sent already, or a part with fewer messages
		shown.None = true
		return shown, nil
	}
	if err != nil {
		return shown, err
	}
	t, err := s.Store.TemplateVersion(p.R.Context(), sub.TemplateID, sub.TemplateVersion)
	if t, err = campaign.OwnTemplate(sub.Tenant, t, err); err != nil {
		return shown, err
	}
	shown.Trial = web.NewTrial(sub.TemplateID, vars)
	var values []string
	for _, name := range t.Variables() {
		values = append(values, vars[name])
	}
	shown.Phone, shown.Cut = web.Phone(p, t.Render(values), p.T("sending.first_message", line), phoneWeight)
	return shown, nil
}

// showSample shows the preview of another person's message.
func (s *Pages) showSample(p *web.Page) error {
	if !p.Partial() {
		return s.show(p)
	}
	sub, err := s.inPath(p)
	if err != nil {
		return err
	}
	shown, err := s.sample(p, sub)
	if err != nil {
		return err
	}
	p.ShowMedia()
	return p.Fragment("import_sample.html", shown)
}
