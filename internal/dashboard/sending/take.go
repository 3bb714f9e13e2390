package sending

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"unicode/utf8"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/httpapi/inputerr"
	"campaign-dispatch/internal/intake/submission"
)

// source is the file of a form: a chosen one, the one of a draft, the object of a list, or the one of
// a submission that is corrected.
type source struct {
	file   []byte
	object string
	sub    *submission.Submission
	chosen bool
}

func (c source) none() bool { return c.file == nil && c.object == "" && c.sub == nil }

// take hands the form's campaign to the intake, and shows what becomes of it.
func (s *Pages) take(p *web.Page) error {
	f := entered(p)
	from, err := s.source(p, &f)
	if err == nil {
		err = s.check(p, &f, from)
	}
	if err != nil {
		return err
	}
	if len(f.Notes) > 0 {
		return s.again(p, http.StatusUnprocessableEntity, f, from)
	}
	id, err := s.submit(p, f, from)
	if err == nil && from.chosen && f.From != "" { // another file
		err = s.discardFrom(p, f.From, id)
	}
	if wrong, ok := errors.AsType[*inputerr.Error](err); ok {
		f.Notes = []note{{"file", p.T("imports.fault." + wrong.Code)}}
		return s.again(p, http.StatusUnprocessableEntity, f, from)
	}
	if errors.Is(err, campaign.ErrNotFound) {
		f.Notes = []note{{"file", p.T("imports.fault.file_gone")}}
		return s.again(p, http.StatusUnprocessableEntity, f, from)
	}
	if err != nil {
		return err
	}
	return p.Redirect(SubmissionsPath + "/" + id)
}

// submit begins the submission of a form, or corrects the one that the form is about. It returns its
// ID.
func (s *Pages) submit(p *web.Page, f form, from source) (id string, err error) {
	asked := f.asked(p)
	ctx := p.R.Context()
	switch {
	case from.sub != nil:
		if err = s.Intake.Correct(ctx, *from.sub, asked); errors.Is(err, campaign.ErrLostRace) { // its page shows what it became
			err = nil
		}
		return from.sub.CampaignID, err
	case from.object != "":
		asked, err = s.Intake.StartFrom(ctx, asked, from.object)
	default:
		asked, err = s.Intake.Take(ctx, asked, from.file)
	}
	return asked.CampaignID, err
}

// discardFrom discards the submission whose file was replaced by that of another one.
func (s *Pages) discardFrom(p *web.Page, id, other string) error {
	sub, err := s.find(p, id)
	if errors.Is(err, campaign.ErrNotFound) || err == nil && (!sub.Editable() || sub.CampaignID == other) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.discard(p, &sub)
}

// asked returns the submission that a form asks for.
func (f form) asked(p *web.Page) submission.Submission {
	return submission.Submission{
		ID: campaign.ID{Tenant: p.Session.Tenant}, By: p.Session.Email, Name: f.Name, TemplateID: f.TemplateID, Schedule: f.Schedule, NotAfter: f.NotAfter,
		Draft: f.Draft, DraftVersion: f.DraftVersion, File: submission.File{Name: f.FileName},
	}
}

// maxName is the maximum number of characters of a campaign's name.
const maxName = 1000

// check adds the errors of the form.
func (s *Pages) check(p *web.Page, f *form, from source) error {
	add := func(field, text string) { f.Notes = append(f.Notes, note{field, text}) }
	switch {
	case f.Name == "":
		add("name", p.T("sending.no_name"))
	case utf8.RuneCountInString(f.Name) > maxName:
		add("name", p.T("sending.long_name", p.Number(maxName)))
	}
	_, err := s.template(p, f.TemplateID)
	if errors.Is(err, campaign.ErrNotFound) {
		add("template", p.T("refusal.template_not_found"))
	} else if err != nil {
		return err
	}
	switch {
	case from.none():
		add("file", p.T("sending.no_file"))
	case from.chosen && len(from.file) == 0:
		add("file", p.T("sending.file.empty"))
	}
	if s.Intake.TooLate(f.asked(p)) {
		add("schedule", p.T("sending.too_soon", s.lead(p)))
	}
	return nil
}

// again shows the form again. Browsers do not send a chosen file again.
func (s *Pages) again(p *web.Page, status int, f form, from source) error {
	if from.chosen {
		if _, err := s.kept(p, &f); err != nil {
			return err
		}
	}
	return s.renderForm(p, status, f)
}

// source returns the file of a form: the chosen one, or the one that the form is about.
func (s *Pages) source(p *web.Page, f *form) (source, error) {
	content, header, err := p.R.FormFile("file")
	if err != nil {
		return s.kept(p, f)
	}
	defer func() { _ = content.Close() }() // it is in memory
	file, err := io.ReadAll(content)
	if err != nil {
		return source{}, fmt.Errorf("read an uploaded file: %w", err)
	}
	f.FileName = web.Short(path.Base(header.Filename), nameWeight)
	return source{file: file, chosen: true}, nil
}

// kept returns the file that a form is about, and sets its name. A file that is gone must be chosen
// again.
func (s *Pages) kept(p *web.Page, f *form) (from source, err error) {
	f.FileName = ""
	switch {
	case f.From != "":
		var sub submission.Submission
		if sub, err = s.find(p, f.From); err == nil && sub.Editable() {
			f.FileName, from.sub = sub.File.Name, &sub
		} else {
			f.From = ""
		}
	case f.List != "":
		from.object, f.FileName, err = s.recipients(p, f.List)
	case f.DraftVersion > 0:
		from.file, f.FileName, err = s.fileOfDraft(p, f.Draft, f.DraftVersion)
	}
	if errors.Is(err, campaign.ErrNotFound) {
		f.FileName = ""
		return source{}, nil
	}
	return from, err
}
