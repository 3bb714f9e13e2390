package sending

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/gateway"
	"campaign-dispatch/internal/localtime"
	"campaign-dispatch/internal/preview"
	"campaign-dispatch/internal/webui"
)

// review is a campaign with all that there is to say before it is sent.
type review struct {
	upload
	ID       string
	Template campaign.Template
	Phone    preview.Phone // the first message as it will look
	Due      time.Time     // zero for at once
	Until    time.Time     // zero for ever
	ANSI     bool
	Parts    int
	Done     int  // parts that were accepted already
	Late     bool // it is too late for the schedule: the rest goes at once
	findings
}

// plan is what a campaign is made of.
type plan struct {
	table    table
	parts    []part
	repeated []repeated
	done     int // parts that were accepted already
}

func (s *Pages) plan(p *webui.Page, u upload) (pl plan, err error) {
	if pl.table, err = readFile(u.file); err != nil {
		return pl, &webui.Refusal{Status: http.StatusUnprocessableEntity, Key: "ui.bad_form"}
	}
	rows, repeated := unique(pl.table)
	pl.parts, pl.repeated = partsOf(rows), repeated
	for _, part := range pl.parts {
		_, err := s.Store.Batch(p.R.Context(), campaign.BatchRef{
			ID: campaign.ID{Tenant: p.Session.Tenant, CampaignID: u.CampaignID}, BatchID: campaign.BatchID(part.batch()),
		})
		if errors.Is(err, campaign.ErrNotFound) {
			return pl, nil // they are accepted in their order
		}
		if err != nil {
			return pl, err
		}
		pl.done++
	}
	return pl, nil
}

func (s *Pages) review(p *webui.Page) error {
	id := p.Query("upload")
	u, err := s.kept(p, id)
	if err != nil {
		return err
	}
	pl, err := s.plan(p, u)
	if err != nil {
		return err
	}
	if pl.done == len(pl.parts) {
		return p.Redirect(webui.Root + "/campaigns/" + u.CampaignID)
	}
	t, err := s.template(p, u.TemplateID)
	if err != nil {
		return err
	}
	found, err := s.find(p, u, pl)
	if err != nil {
		return err
	}
	view := review{
		upload: u, ID: id, Template: t, Phone: firstMessage(p, t, pl), ANSI: pl.table.ansi, Parts: len(pl.parts), Done: pl.done,
	}
	if view.Late = found.late && pl.done > 0; view.Late {
		u.Schedule = ""
		if found, err = s.find(p, u, pl); err != nil {
			return err
		}
	}
	view.Due, view.Until, view.findings = instant(u.Schedule), instant(u.NotAfter), found
	return p.Render("sending.review", "sending_review.html", view)
}

// find asks what would become of the parts that are left.
func (s *Pages) find(p *webui.Page, u upload, pl plan) (findings, error) {
	f := findings{Rows: len(pl.table.rows), Repeated: pl.repeated}
	for _, part := range pl.parts[pl.done:] {
		body, err := u.call(pl.table, part)
		if err != nil {
			return f, err
		}
		v, err := s.dryRun(p, body)
		if err != nil {
			return f, err
		}
		f.add(p, pl.table, part, v)
	}
	return f, nil
}

// firstMessage shows what the first recipient will get.
func firstMessage(p *webui.Page, t campaign.Template, pl plan) preview.Phone {
	first := pl.parts[0].rows[0]
	vars := pl.table.variables(first)
	var values []string
	for _, name := range t.Variables() {
		value, given := vars[name]
		if !given {
			value = "{{" + name + "}}"
		}
		values = append(values, value)
	}
	return preview.Of(t.Render(values), p.T("sending.first_message", first.line))
}

// instant reads a time that is judged elsewhere; what cannot be read is zero.
func instant(text string) time.Time {
	at, err := localtime.Parse(text)
	if err != nil {
		return time.Time{}
	}
	return at
}

// patience is how long one confirmation works; what is left then goes on with the
// next. A gateway waits 30 s.
const patience = 15 * time.Second

// confirm sends the campaign: part by part, in their order. To confirm again goes
// on where it was left.
func (s *Pages) confirm(p *webui.Page) error {
	id := p.Field("upload")
	u, err := s.kept(p, id)
	if err != nil {
		return err
	}
	pl, err := s.plan(p, u)
	if err != nil {
		return err
	}
	t, err := s.template(p, u.TemplateID)
	if err != nil {
		return err
	}
	if p.Field("now") == "1" && pl.done > 0 {
		u.Schedule = ""
	}
	if pl.done < len(pl.parts) && p.Field("version") != strconv.Itoa(t.Version) {
		return p.Redirect(reviewPath + "?upload=" + id) // the template was changed since it was seen
	}
	if pl.done < len(pl.parts) {
		if err := p.Audit("campaign.dispatch", u.Name); err != nil {
			return err
		}
	}
	done, err := s.send(p, u, pl)
	if err != nil {
		return err
	}
	if !done {
		return p.Redirect(reviewPath + "?upload=" + id)
	}
	return p.Redirect(webui.Root + "/campaigns/" + u.CampaignID)
}

// send has the parts that are left accepted. It returns false where some are left:
// the review says why.
func (s *Pages) send(p *webui.Page, u upload, pl plan) (bool, error) {
	start := s.Now()
	for _, part := range pl.parts[pl.done:] {
		if s.Now().Sub(start) > patience {
			return false, nil
		}
		body, err := u.call(pl.table, part)
		if err != nil {
			return false, err
		}
		_, err = s.Dispatch.Dispatch(p.R.Context(), p.Session.Tenant, p.Base, body, false)
		problem, refused := errors.AsType[*gateway.Problem](err)
		switch {
		case refused && already(problem):
		case refused && problem.Status < http.StatusInternalServerError:
			return false, nil
		case err != nil:
			return false, err
		}
	}
	return true, nil
}

// already tells whether a part was refused because it was accepted before.
func already(problem *gateway.Problem) bool {
	const code = "batch_already_used"
	return problem.Code == code || slices.ContainsFunc(problem.Errors, func(v gateway.Violation) bool { return v.Code == code })
}
