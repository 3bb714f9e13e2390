package sending

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/intake/submission"
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

// openDraft returns the form of a draft.
func (s *Pages) openDraft(p *web.Page, id string) (f form, err error) {
	d, err := s.draft(p, id)
	if err != nil {
		return f, err
	}
	f.entry = entry{Name: d.Name, TemplateID: d.TemplateID, Schedule: d.Schedule, NotAfter: d.NotAfter, Draft: d.ID, DraftVersion: d.Version}
	if due := instant(d.Schedule); !due.IsZero() && due.Before(s.Now()) {
		f.Notes = append(f.Notes, note{"schedule", p.T("sending.draft_late", p.When(due))})
	}
	if d.FileName == "" {
		return f, nil
	}
	_, f.FileName, err = s.fileOfDraft(p, d.ID, d.Version)
	if errors.Is(err, campaign.ErrNotFound) { // erased, because it had the number of a person
		f.FileName = ""
		f.Notes = append(f.Notes, note{"file", p.T("sending.draft_file_gone")})
		return f, nil
	}
	return f, err
}

// fileOfDraft returns the file of a version of a draft. The error wraps campaign.ErrNotFound if it has
// none, or if somebody has saved another version.
func (s *Pages) fileOfDraft(p *web.Page, id string, version int) (file []byte, name string, err error) {
	d, err := s.draft(p, id)
	if err == nil && (d.Version != version || d.FileName == "") {
		err = campaign.ErrNotFound
	}
	if err != nil {
		return nil, "", err
	}
	file, err = s.Blobs.Get(p.R.Context(), d.Blob())
	return file, d.FileName, err
}

// saveDraft keeps what is entered in the form, with its file. A draft that somebody else saved
// meanwhile is not overwritten until the person has been told.
func (s *Pages) saveDraft(p *web.Page) error {
	f, reviewed, err := s.enteredDraft(p)
	if err != nil {
		return err
	}
	from, err := s.source(p, &f)
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
			return s.draftRefused(p, f, from, p.T("sending.many_drafts", p.Number(mostDrafts)))
		}
	}
	file, err := s.small(p, f, from)
	if errors.Is(err, errLarge) {
		return s.draftRefused(p, f, from, p.T("sending.draft_large"))
	}
	if err == nil {
		err = s.writeDraft(p, d, file)
	}
	if errors.Is(err, campaign.ErrLostRace) {
		return s.draftChanged(p, f, from)
	}
	if err == nil && reviewed {
		err = s.discard(p, from.sub)
	}
	if err != nil {
		return err
	}
	return p.Done(DraftsPath, "sending.draft_saved", d.Name)
}

// enteredDraft reads the form, or the campaign under review.
func (s *Pages) enteredDraft(p *web.Page) (f form, reviewed bool, err error) {
	if id := p.Field("submission"); id != "" {
		f.entry, err = s.entryOf(p, id)
		f.Draft = cmp.Or(f.Draft, random.UUID())
		return f, true, err
	}
	if f = entered(p); f.Draft == "" {
		return f, false, &web.Refusal{Status: http.StatusBadRequest, Key: "ui.bad_form"}
	}
	f.Name = web.Short(f.Name, maxName)
	return f, false, nil
}

// errLarge is the error of a file that is too large for a draft.
var errLarge = errors.New("the file is too large for a draft")

// small returns the file of a form, nil without one. The error is errLarge for one that a form could
// not send.
func (s *Pages) small(p *web.Page, f form, from source) (file []byte, err error) {
	switch {
	case from.sub != nil && from.sub.File.Size <= web.MaxForm:
		file, err = s.Blobs.Get(p.R.Context(), from.sub.FileKey())
	case from.object != "":
		e, err := s.export(p, f.List)
		if err != nil || e.Parts > 1 {
			return nil, cmp.Or(err, errLarge)
		}
		file, err = s.Blobs.Get(p.R.Context(), from.object)
		if err != nil {
			return nil, err
		}
	case from.sub != nil:
		return nil, errLarge
	default:
		file = from.file
	}
	if len(file) > web.MaxForm {
		return nil, errLarge
	}
	return file, err
}

// discard ends a submission that became a draft.
func (s *Pages) discard(p *web.Page, sub *submission.Submission) error {
	if sub == nil {
		return nil
	}
	_, err := s.Intake.Discard(p.R.Context(), intake.Step{ID: sub.ID, Audit: p.AuditEntry("", "campaign.import_discard", sub.Name)})
	if errors.Is(err, intake.ErrState) || errors.Is(err, campaign.ErrLostRace) {
		return nil
	}
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
func (s *Pages) draftChanged(p *web.Page, f form, from source) error {
	d, err := s.draft(p, f.Draft)
	if errors.Is(err, campaign.ErrNotFound) {
		f.Draft, f.DraftVersion = random.UUID(), 0
		return s.draftRefused(p, f, from, p.T("sending.draft_gone"))
	}
	if err != nil {
		return err
	}
	f.DraftVersion = d.Version
	return s.draftRefused(p, f, from, p.T("sending.draft_changed", d.Who, p.When(d.UpdatedAt)))
}

// draftRefused shows the form again.
func (s *Pages) draftRefused(p *web.Page, f form, from source, why string) error {
	f.Notes = append(f.Notes, note{"name", why})
	if from.chosen {
		f.Notes = append(f.Notes, note{"file", p.T("sending.choose_again", f.FileName)})
	}
	return s.again(p, http.StatusConflict, f, from)
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
	if err := s.DropDraft(p, d.ID, d.Version); err != nil {
		return err
	}
	return p.Done(DraftsPath, "sending.draft_deleted", d.Name)
}

// DropDraft deletes a draft that was sent or deleted, unless somebody has saved a later version.
func (s *Pages) DropDraft(p *web.Page, id string, version int) error {
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

// instant parses a time that is validated elsewhere. It returns zero for an invalid time.
func instant(text string) time.Time {
	at, err := localtime.Parse(text)
	if err != nil {
		return time.Time{}
	}
	return at
}
