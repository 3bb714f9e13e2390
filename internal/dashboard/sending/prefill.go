package sending

import (
	"strings"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/exports/export"
	"campaign-dispatch/internal/intake/submission"
)

// copyOf returns the name and the template of a campaign, without its recipients.
func (s *Pages) copyOf(p *web.Page, id string) (entry, error) {
	c, err := campaignOf(p, id, s.Store.Dispatched)
	return entry{Name: p.T("sending.copy_of", c.Name), TemplateID: templateOf(c)}, err
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
	f.entry = entry{Name: sub.Name, TemplateID: sub.TemplateID, Schedule: sub.Schedule, NotAfter: sub.NotAfter}
	if !sub.Replaceable() {
		return f, nil
	}
	f.From, f.Version = sub.CampaignID, sub.Version
	if sub.State == submission.StateDraft && s.passed(sub) {
		f.Notes = append(f.Notes, note{"schedule", p.T("sending.draft_late", p.When(sub.Due()))})
	}
	kept, err := s.Intake.HasFile(p.R.Context(), sub)
	switch {
	case kept:
		f.FileName = sub.File.Name
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
