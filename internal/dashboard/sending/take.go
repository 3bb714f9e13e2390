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
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/intake/submission"
)

// source is the file of a form.
type source struct {
	intake.FormFile
	chosen bool
}

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
	sub, err := s.Intake.Take(p.R.Context(), f.asked(p), from.FormFile)
	switch why := fileFault(p, err); {
	case why != "":
		f.Notes = []note{{"file", why}}
		return s.again(p, http.StatusUnprocessableEntity, f, from)
	case errors.Is(err, intake.ErrStale):
		return s.draftChanged(p, f, from, sub)
	case err != nil:
		return err
	}
	return p.Redirect(pathOf(sub))
}

// fileFault returns why the intake refuses the file of a form, or "".
func fileFault(p *web.Page, err error) string {
	if wrong, ok := errors.AsType[*inputerr.Error](err); ok {
		return p.T("imports.fault." + wrong.Code)
	}
	if errors.Is(err, campaign.ErrNotFound) {
		return p.T("imports.fault.file_gone")
	}
	return ""
}

// asked returns the submission that a form asks for.
func (f form) asked(p *web.Page) submission.Submission {
	return submission.Submission{
		ID: campaign.ID{Tenant: p.Session.Tenant, CampaignID: f.From}, Version: f.Version, By: p.Session.Email,
		Name: f.Name, TemplateID: f.TemplateID, Schedule: f.Schedule, NotAfter: f.NotAfter, File: submission.File{Name: f.FileName},
	}
}

// maxName is the maximum number of characters of a campaign's name.
const maxName = 1000

// fault is why a campaign cannot begin, and the field of the form to correct.
type fault struct {
	field string
	web.Refusal
}

// faults returns why a campaign cannot begin, but for its file.
func (s *Pages) faults(p *web.Page, asked submission.Submission) (all []fault, err error) {
	add := func(field, key string, args ...any) {
		all = append(all, fault{field, web.Refusal{Key: key, Args: args}})
	}
	switch {
	case asked.Name == "":
		add("name", "sending.no_name")
	case utf8.RuneCountInString(asked.Name) > maxName:
		add("name", "sending.long_name", p.Number(maxName))
	}
	_, err = s.template(p, asked.TemplateID)
	if errors.Is(err, campaign.ErrNotFound) {
		add("template", "refusal.template_not_found")
	} else if err != nil {
		return nil, err
	}
	if s.Intake.TooLate(asked) {
		add("schedule", "sending.too_soon", s.lead(p))
	}
	return all, nil
}

// check adds the errors of the form.
func (s *Pages) check(p *web.Page, f *form, from source) error {
	all, err := s.faults(p, f.asked(p))
	if err != nil {
		return err
	}
	for _, wrong := range all {
		f.Notes = append(f.Notes, note{wrong.field, p.T(wrong.Key, wrong.Args...)})
	}
	switch {
	case from.None():
		f.Notes = append(f.Notes, note{"file", p.T("sending.no_file")})
	case from.chosen && len(from.Chosen) == 0:
		f.Notes = append(f.Notes, note{"file", p.T("sending.file.empty")})
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
	return source{intake.FormFile{Chosen: file}, true}, nil
}

// kept returns the file that a form is about, and sets its name. A file that is gone must be chosen
// again.
func (s *Pages) kept(p *web.Page, f *form) (from source, err error) {
	f.FileName = ""
	sub, err := s.find(p, f.From)
	if err == nil {
		from.Kept, err = s.Intake.HasFile(p.R.Context(), sub)
	}
	switch {
	case from.Kept:
		f.FileName = sub.File.Name
	case f.List != "" && (err == nil || errors.Is(err, campaign.ErrNotFound)):
		from.Object, f.FileName, err = s.recipients(p, f.List)
	}
	if errors.Is(err, campaign.ErrNotFound) {
		f.FileName = ""
		return source{}, nil
	}
	return from, err
}
