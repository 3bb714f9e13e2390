package campaignupload

import (
	"math/rand/v2"
	"strconv"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/preview"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/recipients"
)

// sample is the preview of one person's message, with the positions of others.
type sample struct {
	Upload              string
	Phone               preview.Phone
	Cut                 bool // the preview is cut
	Trial               web.Trial
	At, Of              int // position from 1, and the number of people
	Prior, Next, Random int
}

// phoneWeight is the size in bytes of a message's texts.
const phoneWeight = 4000

// newSample returns the preview that the parameter "person" chooses, the first one without it.
// An invalid position wraps campaign.ErrNotFound.
func newSample(p *web.Page, t campaign.Template, pl plan, id string) (s sample, err error) {
	s = sample{Upload: id, At: 1}
	for _, part := range pl.parts {
		s.Of += len(part.rows)
	}
	if text := p.Query("person"); text != "" {
		if s.At, err = strconv.Atoi(text); err != nil || s.At < 1 || s.At > s.Of {
			return s, campaign.ErrNotFound
		}
	}
	s.Prior, s.Next = s.At-1, s.At%s.Of+1
	s.Random = (s.At+rand.IntN(max(1, s.Of-1)))%s.Of + 1 //nolint:gosec // nobody gains from guessing it
	s.Trial = web.NewTrial(t.ID, pl.table.Variables(pl.row(s.At-1)))
	s.Phone, s.Cut = messageOf(p, t, pl.table, pl.row(s.At-1))
	return s, nil
}

// row returns the row at a position.
func (pl plan) row(at int) recipients.Row {
	return pl.parts[at/campaign.MaxMessages].rows[at%campaign.MaxMessages]
}

// messageOf returns the preview of a row's message.
func messageOf(p *web.Page, t campaign.Template, file table, r recipients.Row) (phone preview.Phone, cut bool) {
	vars := file.Variables(r)
	var values []string
	for _, name := range t.Variables() {
		value, given := vars[name]
		if !given {
			value = "{{" + name + "}}"
		}
		values = append(values, value)
	}
	return web.Phone(p, t.Render(values), p.T("sending.first_message", r.Line), phoneWeight)
}

// showSample shows the preview of another person's message.
func (s *Pages) showSample(p *web.Page) error {
	id := p.Query("upload")
	if !p.Partial() {
		return p.Redirect(reviewPath + "?" + p.R.URL.RawQuery)
	}
	u, err := s.kept(p, id)
	if err != nil {
		return err
	}
	var pl plan
	if pl.table, err = readFile(u.file); err != nil {
		return err
	}
	rows, _ := unique(pl.table)
	pl.parts = partsOf(rows)
	t, err := s.template(p, u.TemplateID)
	if err != nil {
		return err
	}
	pl.fit(p, t)
	shown, err := newSample(p, t, pl, id)
	if err != nil {
		return err
	}
	p.ShowMedia()
	return p.Fragment("sending_sample.html", shown)
}
