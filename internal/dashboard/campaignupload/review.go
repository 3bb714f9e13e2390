package campaignupload

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dispatch"
)

// review is a campaign with the findings before it is sent.
type review struct {
	upload
	ID       string
	Template campaign.Template
	Sample   sample
	Due      time.Time // zero for immediately
	Until    time.Time // zero for no limit
	ANSI     bool
	PhoneIn  string // the column of the numbers, if it is not named phone
	UIDIn    string // the column of the uids, if it is not named uid
	Parts    int
	Done     int  // parts that were accepted already
	Late     bool // the scheduled time has passed: the rest is sent immediately
	findings
	outlook
	Approval bool // a second person has to approve it
}

// Fit reports whether the campaign may be sent. A campaign that is partly sent was
// checked completely before.
func (r review) Fit() bool {
	return len(r.General)+len(r.Lines) == 0 && r.Accepted > 0 && (r.Checked == 0 || r.Done > 0)
}

// plan holds the parts of a campaign.
type plan struct {
	table    table
	parts    []part
	repeated []repeated
	done     int       // parts that were accepted already
	due      time.Time // of the rest, zero for immediately
	misfit   string    // why the file does not fit the template, or ""
	version  int       // of the template
}

// fit finds the template's columns in the file.
func (pl *plan) fit(p *web.Page, t campaign.Template) {
	pl.version = t.Version
	if err := pl.table.fit(t.Variables()); err != nil {
		pl.misfit = explain(p, err)
	}
}

func (s *Pages) plan(p *web.Page, u upload) (pl plan, err error) {
	if pl.table, err = readFile(u.file); err != nil {
		return pl, &web.Refusal{Status: http.StatusUnprocessableEntity, Key: "ui.bad_form"}
	}
	rows, repeated := unique(pl.table)
	pl.parts, pl.repeated = partsOf(rows), repeated
	if pl.done, err = s.accepted(p, u, pl.parts); err != nil {
		return pl, err
	}
	pl.due, err = s.due(p, u, pl.done)
	return pl, err
}

// due returns when the rest of a campaign goes, zero for immediately. It goes with the accepted
// parts if they were rescheduled.
func (s *Pages) due(p *web.Page, u upload, done int) (time.Time, error) {
	if done == 0 {
		return instant(u.Schedule), nil
	}
	c, err := s.Store.Dispatched(p.R.Context(), campaign.ID{Tenant: p.Session.Tenant, CampaignID: u.CampaignID})
	if err != nil || c.Move.Revision > 0 {
		return c.Move.Due, err
	}
	return instant(u.Schedule), nil
}

// accepted returns the number of accepted parts. Parts are accepted in order, so a
// binary search finds it.
func (s *Pages) accepted(p *web.Page, u upload, parts []part) (int, error) {
	done, end := 0, len(parts)
	for done < end {
		middle := (done + end) / 2
		_, err := s.Store.Batch(p.R.Context(), campaign.BatchRef{
			ID: campaign.ID{Tenant: p.Session.Tenant, CampaignID: u.CampaignID}, BatchID: campaign.BatchID(parts[middle].batch()),
		})
		switch {
		case err == nil:
			done = middle + 1
		case errors.Is(err, campaign.ErrNotFound):
			end = middle
		default:
			return 0, err
		}
	}
	return done, nil
}

func (s *Pages) review(p *web.Page) error {
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
		return p.Redirect(web.Root + "/campaigns/" + u.CampaignID)
	}
	t, err := s.template(p, u.TemplateID)
	if err != nil {
		return err
	}
	pl.fit(p, t)
	until := s.Now().Add(maxDuration)
	found, err := s.find(p, u, pl, until)
	if err != nil {
		return err
	}
	view := review{
		upload: u, ID: id, Template: t, ANSI: pl.table.ansi, Parts: len(pl.parts), Done: pl.done,
		PhoneIn: pl.table.renamed(pl.table.Phone, "phone"), UIDIn: pl.table.renamed(pl.table.UID, "uid"),
	}
	view.Name, view.FileName = web.Short(u.Name, titleWeight), web.Short(u.FileName, choiceWeight)
	view.Template.Name = web.Short(t.Name, choiceWeight)
	if view.Sample, err = newSample(p, t, pl, id); err != nil {
		return err
	}
	if view.Late = found.late && pl.done > 0; view.Late {
		u.Schedule, pl.due = "", time.Time{}
		if found, err = s.find(p, u, pl, until); err != nil {
			return err
		}
	}
	view.Due, view.Until, view.findings = pl.due, instant(u.NotAfter), found
	if view.outlook, err = s.outlook(p, pl, found.Accepted); err != nil {
		return err
	}
	if view.Approval, err = s.needsApproval(p, pl); err != nil {
		return err
	}
	p.ShowMedia()
	return p.Render("sending.review", "sending_review.html", view)
}

// sideBySide is the number of parts checked concurrently.
const sideBySide = 6

// find checks the remaining parts. It starts no check after until.
func (s *Pages) find(p *web.Page, u upload, pl plan, until time.Time) (findings, error) {
	f := findings{Rows: len(pl.table.rows), Repeated: pl.repeated}
	if pl.misfit != "" {
		f.General = []string{pl.misfit}
		return f, nil
	}
	left := pl.parts[pl.done:]
	verdicts, err := s.checkParts(p, u, pl.table, left, until)
	if err != nil {
		return f, err
	}
	for i, v := range verdicts {
		s.add(&f, p, pl.table, left[i], v)
	}
	if n := len(verdicts); n < len(left) {
		f.Checked = left[n].rows[0].Line - 1
	}
	f.checkBudget(p)
	return f, nil
}

// checkParts returns the results of the parts that were checked in time, in order.
func (s *Pages) checkParts(p *web.Page, u upload, t table, parts []part, until time.Time) ([]dispatch.Verdict, error) {
	verdicts := make([]dispatch.Verdict, len(parts))
	calls, ctx := errgroup.WithContext(p.R.Context())
	calls.SetLimit(sideBySide)
	begun := 0
	for i, part := range parts {
		if s.Now().After(until) {
			break
		}
		calls.Go(func() (err error) {
			verdicts[i], err = s.Dispatch.Check(ctx, u.call(p, t, part))
			return err
		})
		begun++
	}
	return verdicts[:begun], calls.Wait()
}

// titleWeight is the size in bytes of the campaign's name.
const titleWeight = 1200

// instant parses a time that is validated elsewhere. It returns zero for an invalid
// time.
func instant(text string) time.Time {
	at, err := localtime.Parse(text)
	if err != nil {
		return time.Time{}
	}
	return at
}

// maxDuration is the maximum duration of a review or a confirmation; the next request
// continues. API Gateway waits 30 s.
const maxDuration = 15 * time.Second

// confirm sends the campaign, part by part, in order. A repeated confirmation
// continues.
func (s *Pages) confirm(p *web.Page) error {
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
		u.Schedule, pl.due = "", time.Time{}
	}
	pl.fit(p, t)
	done := pl.done == len(pl.parts)
	if !done && p.Field("version") == strconv.Itoa(t.Version) { // not changed since the preview
		needed, err := s.needsApproval(p, pl)
		if err != nil {
			return err
		}
		if needed {
			return s.ask(p, u, pl, t)
		}
		if done, err = s.deliver(p, u, pl); err != nil {
			return err
		}
	}
	if !done {
		return p.Redirect(reviewPath + "?upload=" + id)
	}
	if err := s.dropDraft(p, u.Draft, u.DraftVersion); err != nil {
		return err
	}
	path := web.Root + "/campaigns/" + u.CampaignID
	if !pl.due.IsZero() {
		return p.Done(path, "sending.scheduled", u.Name, p.When(pl.due))
	}
	return p.Done(path, "sending.started", u.Name)
}

// deliver dispatches the remaining parts, and writes the audit log if the next part is
// valid. It returns false if parts remain.
func (s *Pages) deliver(p *web.Page, u upload, pl plan) (bool, error) {
	if pl.misfit != "" {
		return false, nil
	}
	v, err := s.Dispatch.Check(p.R.Context(), u.call(p, pl.table, pl.parts[pl.done]))
	if err != nil || len(v.Faults) > 0 {
		return false, err
	}
	action := "campaign.dispatch"
	if u.Schedule != "" {
		action = "campaign.schedule"
	}
	if err := p.AuditOn(web.Root+"/campaigns/"+u.CampaignID, action, u.Name); err != nil {
		return false, err
	}
	return s.send(p, u, pl)
}

// send dispatches the remaining parts. It returns false if parts remain, also if somebody
// changes the template meanwhile; the review then states the reason.
func (s *Pages) send(p *web.Page, u upload, pl plan) (bool, error) {
	start := s.Now()
	for _, part := range pl.parts[pl.done:] {
		if s.Now().Sub(start) > maxDuration {
			return false, nil
		}
		c := u.call(p, pl.table, part)
		c.TemplateVersion = pl.version
		_, err := s.Dispatch.Accept(p.R.Context(), c)
		if _, refused := errors.AsType[*dispatch.Refusal](err); refused {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}
