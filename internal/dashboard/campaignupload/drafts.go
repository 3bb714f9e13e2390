package campaignupload

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/random"
)

// DraftsPath is the path of the list of drafts.
const DraftsPath = web.Root + "/drafts"

// listedDraft is a draft in the list.
type listedDraft struct {
	campaign.Draft
	Template string // its name, "" if it does not exist
	Due      time.Time
	Late     bool // the time has passed
}

func (s *Pages) drafts(p *web.Page) error {
	ctx := p.R.Context()
	all, err := s.Store.Drafts(ctx, p.Session.Tenant)
	if err != nil {
		return err
	}
	templates, err := s.Store.Templates(ctx, p.Session.Tenant)
	if err != nil {
		return err
	}
	names := map[string]string{}
	for _, t := range templates {
		names[t.ID] = t.Name
	}
	slices.SortFunc(all, func(a, b campaign.Draft) int {
		return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), cmp.Compare(a.ID, b.ID))
	})
	var shown []listedDraft
	for _, d := range all[:min(len(all), mostDrafts)] {
		due := instant(d.Schedule)
		d.Name, d.FileName = web.Short(d.Name, choiceWeight), web.Short(d.FileName, choiceWeight)
		shown = append(shown, listedDraft{d, web.Short(names[d.TemplateID], choiceWeight), due, !due.IsZero() && due.Before(s.Now())})
	}
	return p.Render("sending.drafts", "sending_drafts.html", shown)
}

// mostDrafts is the maximum number of drafts of a tenant.
const mostDrafts = 50

// draft returns a draft of the tenant.
func (s *Pages) draft(p *web.Page, id string) (campaign.Draft, error) {
	id, ok := campaign.ParseUUID(id)
	if !ok {
		return campaign.Draft{}, campaign.ErrNotFound
	}
	return s.Store.Draft(p.R.Context(), p.Session.Tenant, id)
}

// openDraft returns the form of a draft, with its file as a new upload.
func (s *Pages) openDraft(p *web.Page, id string) (f form, err error) {
	d, err := s.draft(p, id)
	if err != nil {
		return f, err
	}
	f.upload = upload{
		Name: d.Name, TemplateID: d.TemplateID, Schedule: d.Schedule, NotAfter: d.NotAfter, FileName: d.FileName, Draft: d.ID, DraftVersion: d.Version,
	}
	if due := instant(d.Schedule); !due.IsZero() && due.Before(s.Now()) {
		f.Notes = append(f.Notes, note{"schedule", p.T("sending.draft_late", p.When(due))})
	}
	if d.FileName == "" {
		return f, nil
	}
	f.file, err = s.Blobs.Get(p.R.Context(), d.Blob())
	if errors.Is(err, campaign.ErrNotFound) { // erased, because it had the number of a person
		f.FileName = ""
		f.Notes = append(f.Notes, note{"file", p.T("sending.draft_file_gone")})
		return f, nil
	}
	if err != nil {
		return f, fmt.Errorf("read the file of a draft: %w", err)
	}
	f.From, err = s.keep(p, f.upload)
	return f, err
}

// saveDraft keeps what is entered in the form, with its file. A draft that somebody else saved
// meanwhile is not overwritten until the person has been told.
func (s *Pages) saveDraft(p *web.Page) error {
	f, err := s.enteredDraft(p)
	if err != nil {
		return err
	}
	d := campaign.Draft{
		Tenant: p.Session.Tenant, ID: f.Draft, Version: f.DraftVersion, Name: cmp.Or(f.Name, p.T("sending.untitled")), TemplateID: f.TemplateID,
		Schedule: f.Schedule, NotAfter: f.NotAfter, FileName: f.FileName, Who: p.Session.Email, UpdatedAt: s.Now(),
	}
	if d.Version == 0 {
		all, err := s.Store.Drafts(p.R.Context(), d.Tenant)
		if err != nil {
			return err
		}
		if len(all) >= mostDrafts {
			return s.draftRefused(p, f, p.T("sending.many_drafts", p.Number(mostDrafts)))
		}
	}
	if f.Object != "" {
		return s.draftRefused(p, f, p.T("sending.draft_large"))
	}
	switch err := s.writeDraft(p, d, f.file); {
	case errors.Is(err, campaign.ErrLostRace):
		return s.draftChanged(p, f)
	case err != nil:
		return err
	}
	return p.Done(DraftsPath, "sending.draft_saved", d.Name)
}

// enteredDraft reads the form, or the campaign under review, with its file.
func (s *Pages) enteredDraft(p *web.Page) (form, error) {
	if id := p.Field("upload"); id != "" {
		u, err := s.kept(p, id)
		u.Draft = cmp.Or(u.Draft, random.UUID())
		return form{upload: u, From: id}, err
	}
	f := entered(p)
	id, ok := campaign.ParseUUID(f.Draft)
	if !ok {
		return f, &web.Refusal{Status: http.StatusBadRequest, Key: "ui.bad_form"}
	}
	f.Draft = id
	f.Name = web.Short(f.Name, maxName)
	err := s.draftFile(p, &f)
	return f, err
}

// draftFile reads the file of the form, or the one of the upload that the form is about.
func (s *Pages) draftFile(p *web.Page, f *form) error {
	content, header, err := p.R.FormFile("file")
	if err == nil {
		defer func() { _ = content.Close() }() // it is in memory
		if f.file, err = io.ReadAll(content); err != nil {
			return fmt.Errorf("read an uploaded file: %w", err)
		}
		f.FileName = path.Base(header.Filename)
		return nil
	}
	if f.From == "" {
		return nil
	}
	before, err := s.kept(p, f.From)
	if errors.Is(err, campaign.ErrNotFound) {
		f.From = ""
		return nil
	}
	f.file, f.FileName, f.Object = before.file, before.FileName, before.Object
	return err
}

// writeDraft writes the file, then the row that refers to it, and deletes the former file. It
// returns campaign.ErrLostRace if d.Version is not the stored one.
func (s *Pages) writeDraft(p *web.Page, d campaign.Draft, file []byte) error {
	ctx := p.R.Context()
	former, err := s.draft(p, d.ID)
	if err != nil && !errors.Is(err, campaign.ErrNotFound) {
		return err
	}
	if former.Version != d.Version {
		return campaign.ErrLostRace
	}
	d.File = random.UUID()
	if d.FileName != "" {
		if err := s.Blobs.Put(ctx, d.Blob(), file, "application/octet-stream"); err != nil {
			return err
		}
	}
	if err := p.Audit("campaign.draft", d.Name); err != nil {
		return err
	}
	if err := s.Store.SaveDraft(ctx, d); err != nil {
		return err
	}
	if former.FileName == "" {
		return nil
	}
	return s.Blobs.Delete(ctx, former.Blob())
}

// draftChanged shows the form again: somebody else saved, deleted or sent the draft meanwhile.
func (s *Pages) draftChanged(p *web.Page, f form) error {
	d, err := s.draft(p, f.Draft)
	if errors.Is(err, campaign.ErrNotFound) {
		f.Draft, f.DraftVersion = random.UUID(), 0
		return s.draftRefused(p, f, p.T("sending.draft_gone"))
	}
	if err != nil {
		return err
	}
	f.DraftVersion = d.Version
	return s.draftRefused(p, f, p.T("sending.draft_changed", d.Who, p.When(d.UpdatedAt)))
}

// draftRefused shows the form again, with its file as an upload.
func (s *Pages) draftRefused(p *web.Page, f form, why string) (err error) {
	if f.FileName != "" {
		if f.From, err = s.keep(p, f.upload); err != nil {
			return err
		}
	}
	f.Notes = append(f.Notes, note{"name", why})
	return s.renderForm(p, http.StatusConflict, f)
}

// deleteDraft deletes a draft and its file.
func (s *Pages) deleteDraft(p *web.Page) error {
	d, err := s.draft(p, p.R.PathValue("id"))
	if errors.Is(err, campaign.ErrNotFound) { // deleted by a former click
		return p.Redirect(DraftsPath)
	}
	if err != nil {
		return err
	}
	if err := p.Audit("campaign.draft_delete", d.Name); err != nil {
		return err
	}
	if err := s.dropDraft(p, d.ID, d.Version); err != nil {
		return err
	}
	return p.Done(DraftsPath, "sending.draft_deleted", d.Name)
}

// dropDraft deletes a draft that was sent or deleted, unless somebody has saved a later version.
func (s *Pages) dropDraft(p *web.Page, id string, version int) error {
	d, err := s.draft(p, id)
	if errors.Is(err, campaign.ErrNotFound) || err == nil && d.Version != version {
		return nil
	}
	if err != nil {
		return err
	}
	if deleted, err := s.Store.DeleteDraft(p.R.Context(), d); err != nil || !deleted {
		return err
	}
	return s.Blobs.Delete(p.R.Context(), d.Blob())
}
