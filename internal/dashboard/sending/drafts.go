package sending

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/intake/submission"
)

// DraftsPath is the path of the list of drafts.
const DraftsPath = web.Root + "/drafts"

type listedDraft struct {
	submission.Submission
	Template string // its name, "" if it does not exist
	Late     bool   // the time has passed
}

func (s *Pages) drafts(p *web.Page, all []submission.Submission) error {
	templates, err := s.Store.Templates(p.R.Context(), p.Session.Tenant)
	if err != nil {
		return err
	}
	names := map[string]string{}
	for _, t := range templates {
		names[t.ID] = t.Name
	}
	all = slices.DeleteFunc(all, func(sub submission.Submission) bool { return sub.State != submission.StateDraft })
	slices.SortFunc(all, func(a, b submission.Submission) int {
		return cmp.Or(b.SavedAt.Compare(a.SavedAt), cmp.Compare(a.CampaignID, b.CampaignID))
	})
	var shown []listedDraft
	for _, d := range all[:min(len(all), submission.MaxDrafts)] {
		d.Name, d.File.Name = web.Short(d.Name, choiceWeight), web.Short(d.File.Name, choiceWeight)
		shown = append(shown, listedDraft{d, web.Short(names[d.TemplateID], choiceWeight), s.passed(d)})
	}
	return p.Render("ui.drafts", "sending_drafts.html", shown)
}

func (s *Pages) passed(sub submission.Submission) bool {
	due := sub.Due()
	return !due.IsZero() && due.Before(s.Now())
}

// saveDraft keeps what is entered in the form, with its file. A draft that somebody else saved
// meanwhile is not overwritten until the person has been told.
func (s *Pages) saveDraft(p *web.Page) error {
	f, from, err := s.enteredDraft(p)
	if err != nil {
		return err
	}
	asked := f.asked(p)
	asked.Name = cmp.Or(f.Name, p.T("sending.untitled"))
	sub, err := s.Intake.SaveDraft(p.R.Context(), asked, from.FormFile, p.AuditEntry("", "campaign.draft", asked.Name))
	switch why := fileFault(p, err); {
	case why != "":
		return s.draftRefused(p, f, from, why)
	case errors.Is(err, intake.ErrStale):
		return s.draftChanged(p, f, from, sub)
	case errors.Is(err, intake.ErrState):
		f.CampaignID, f.Version = "", 0
		return s.draftRefused(p, f, from, p.T("sending.draft_gone"))
	case err != nil:
		return err
	}
	return p.Done(DraftsPath, "sending.draft_saved", asked.Name)
}

// enteredDraft reads the form, or the campaign under review.
func (s *Pages) enteredDraft(p *web.Page) (f form, from source, err error) {
	if id := p.Field("submission"); id != "" {
		if f, err = s.formOf(p, id); err != nil {
			return f, from, err
		}
		f.Version, err = strconv.Atoi(p.Field("version"))
		if err != nil {
			return f, from, web.BadForm()
		}
		from.Stored = f.File.Name != ""
		return f, from, nil
	}
	f = entered(p)
	f.Name = web.Short(f.Name, maxName)
	from, err = s.source(p, &f)
	return f, from, err
}

// draftChanged shows the form again, because somebody else has saved the draft meanwhile.
func (s *Pages) draftChanged(p *web.Page, f form, from source, stored submission.Submission) error {
	f.Version = stored.Version
	return s.draftRefused(p, f, from, p.T("sending.draft_changed", stored.By, p.When(stored.UpdatedAt)))
}

func (s *Pages) draftRefused(p *web.Page, f form, from source, why string) error {
	f.Notes = append(f.Notes, note{"name", why})
	if from.chosen {
		f.Notes = append(f.Notes, note{"file", p.T("sending.choose_again", f.File.Name)})
	}
	return s.showAgain(p, http.StatusConflict, f, from)
}

// deleteDraft deletes a draft and its file. One that was sent on meanwhile, or deleted by a former
// click, stays as it is.
func (s *Pages) deleteDraft(p *web.Page) error {
	sub, err := s.find(p, p.R.PathValue("id"))
	if err == nil {
		sub, err = s.Intake.Decide(p.R.Context(), intake.Step{
			ID: sub.ID, Choice: intake.DiscardDraft, Audit: p.AuditEntry("", "campaign.draft_delete", sub.Name),
		})
	}
	if errors.Is(err, campaign.ErrNotFound) || errors.Is(err, intake.ErrState) {
		return p.Redirect(DraftsPath)
	}
	if err != nil {
		return err
	}
	return p.Done(DraftsPath, "sending.draft_deleted", sub.Name)
}
