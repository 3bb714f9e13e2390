package sending

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"unicode/utf8"

	"campaign-dispatch/internal/base/inputerr"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/upload"
	"campaign-dispatch/internal/exports/export"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/intake/submission"
)

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
		return s.showAgain(p, http.StatusUnprocessableEntity, f, from)
	}
	sub, err := s.Intake.Take(p.R.Context(), f.asked(p), from.FormFile)
	switch why := fileFault(p, err); {
	case why != "":
		f.Notes = []note{{"file", why}}
		return s.showAgain(p, http.StatusUnprocessableEntity, f, from)
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
		return p.T("submission.fault." + wrong.Code)
	}
	if errors.Is(err, campaign.ErrNotFound) {
		return p.T("submission.fault.file_gone")
	}
	return ""
}

// asked returns the campaign that the person asks for.
func (f form) asked(p *web.Page) submission.Submission {
	f.Tenant, f.By = p.Session.Tenant, p.Session.Email
	return f.Submission
}

const maxName = 1000 // characters

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
	if s.Intake.ScheduleMissed(asked) {
		add("schedule", "sending.too_soon", s.lead(p))
	}
	return all, nil
}

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

// showAgain shows the form again. Browsers do not send a chosen file again.
func (s *Pages) showAgain(p *web.Page, status int, f form, from source) error {
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
	f.File.Name = web.Short(path.Base(header.Filename), nameWeight)
	return source{intake.FormFile{Chosen: file}, true}, nil
}

// kept returns the file that a form is about, and sets its name. A file that is gone must be chosen
// again.
func (s *Pages) kept(p *web.Page, f *form) (from source, err error) {
	f.File.Name = ""
	sub, err := s.find(p, f.CampaignID)
	if err == nil {
		from.Stored, err = s.Intake.HasFile(p.R.Context(), sub)
	}
	switch {
	case from.Stored:
		f.File.Name = sub.File.Name
	case f.List != "" && (err == nil || errors.Is(err, campaign.ErrNotFound)):
		from.Object, f.File.Name, err = s.recipients(p, f.List)
	}
	if errors.Is(err, campaign.ErrNotFound) {
		f.File.Name = ""
		return source{}, nil
	}
	return from, err
}

// copyOf returns the name and the template of a campaign, without its recipients.
func (s *Pages) copyOf(p *web.Page, id string) (f form, err error) {
	c, err := web.OfCampaign(p, id, s.Store.Dispatched)
	f.Name, f.TemplateID = p.T("sending.copy_of", c.Name), templateOf(c)
	return f, err
}

// templateOf returns the template of a campaign, "" if it was cancelled before its first batch.
func templateOf(c campaign.Campaign) string {
	if len(c.Batches) == 0 {
		return ""
	}
	return c.Batches[0].TemplateID
}

// formOf returns the form of a submission. One that somebody has decided about is the beginning of
// another campaign, without the file.
func (s *Pages) formOf(p *web.Page, id string) (f form, err error) {
	sub, err := s.find(p, id)
	if err != nil {
		return f, err
	}
	f.Name, f.TemplateID, f.Schedule, f.NotAfter = sub.Name, sub.TemplateID, sub.Schedule, sub.NotAfter
	if !sub.Replaceable() {
		return f, nil
	}
	f.CampaignID, f.Version = sub.CampaignID, sub.Version
	if sub.State == submission.StateDraft && s.passed(sub) {
		f.Notes = append(f.Notes, note{"schedule", p.T("sending.draft_late", p.When(sub.Due()))})
	}
	kept, err := s.Intake.HasFile(p.R.Context(), sub)
	switch {
	case kept:
		f.File.Name = sub.File.Name
	case err == nil && sub.HasFile(): // erased, because it had the number of a person
		f.Notes = append(f.Notes, note{"file", p.T("sending.draft_file_gone")})
	}
	return f, err
}

// recipients returns the object of the list of recipients with the path campaign/export, and a name for
// it.
func (s *Pages) recipients(p *web.Page, list string) (object, name string, err error) {
	campaignID, exportID, _ := strings.Cut(list, "/")
	l, err := s.audienceList(p, campaignID, exportID)
	if err == nil && l.State != export.Completed {
		err = campaign.ErrNotFound
	}
	if err != nil {
		return "", "", err
	}
	return l.Blob(), web.Short(p.T("followup.file."+string(l.Audience), l.Campaign.Name), nameWeight), nil
}

// uploads receives the files of new campaigns that are too large for the form.
func (s *Pages) uploads() upload.Uploads {
	return upload.Uploads{
		Path: SubmissionsPath, Faults: "submission.fault.", From: web.MaxFormFile, Origin: s.Origin,
		Begin: s.beginUpload, ChunkURL: s.chunkURL, End: s.endUpload,
	}
}

// beginUpload begins the upload of a form's file, or continues the one of the same file.
func (s *Pages) beginUpload(p *web.Page, f upload.File) (id string, sent []int, err error) {
	asked := entered(p).asked(p)
	asked.File = submission.File{Name: web.Short(path.Base(f.Name), nameWeight), Size: f.Size, Modified: web.Short(f.Modified, nameWeight)}
	if keeps(p) {
		asked.Name = cmp.Or(web.Short(asked.Name, maxName), p.T("sending.untitled"))
	} else if err := s.firstFault(p, asked); err != nil {
		return "", nil, err
	}
	sub, sent, err := s.Intake.Start(p.R.Context(), asked)
	if errors.Is(err, intake.ErrStale) {
		return "", nil, &web.Refusal{Key: "sending.draft_stale", Args: []any{sub.By, p.When(sub.UpdatedAt)}}
	}
	return sub.CampaignID + "." + sub.File.Object, sent, err
}

func keeps(p *web.Page) bool { return p.Field("keep") != "" }

func (s *Pages) firstFault(p *web.Page, asked submission.Submission) error {
	all, err := s.faults(p, asked)
	if err == nil && len(all) > 0 {
		err = &all[0].Refusal
	}
	return err
}

// uploading returns the submission of an upload, which another file may have replaced since.
func (s *Pages) uploading(p *web.Page, id string) (submission.Submission, error) {
	campaignID, object, _ := strings.Cut(id, ".")
	sub, err := s.find(p, campaignID)
	if err == nil && sub.File.Object != object {
		err = campaign.ErrNotFound
	}
	return sub, err
}

func (s *Pages) chunkURL(p *web.Page, id string, chunk int) (string, error) {
	sub, err := s.uploading(p, id)
	if err != nil {
		return "", err
	}
	return s.Intake.ChunkURL(p.R.Context(), sub, chunk)
}

func (s *Pages) endUpload(p *web.Page, id string) (upload.Ended, error) {
	sub, err := s.uploading(p, id)
	if err != nil {
		return upload.Ended{}, err
	}
	if keeps(p) {
		entry := p.AuditEntry("", "campaign.draft", sub.Name)
		return upload.Ended{Path: DraftsPath}, s.Intake.FinishDraft(p.R.Context(), sub, entry)
	}
	return upload.Ended{Path: pathOf(sub)}, s.Intake.Finish(p.R.Context(), sub)
}
