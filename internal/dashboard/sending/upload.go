package sending

import (
	"cmp"
	"errors"
	"path"
	"strings"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/upload"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/intake/submission"
)

// otherFields is the space in bytes of the form for its other fields.
const otherFields = 16 << 10

// uploads receives the files of new campaigns that are too large for the form.
func (s *Pages) uploads() upload.Uploads {
	return upload.Uploads{
		Path: SubmissionsPath, Faults: "imports.fault.", From: web.MaxForm - otherFields, Origin: s.Origin, Begin: s.beginUpload, ChunkURL: s.chunkURL, End: s.endUpload,
	}
}

// beginUpload begins the upload of a form's file, or continues the one of the same file.
func (s *Pages) beginUpload(p *web.Page, f upload.File) (id string, sent []int, err error) {
	asked := entered(p).asked(p)
	asked.File = submission.File{Name: web.Short(path.Base(f.Name), nameWeight), Size: f.Size, Modified: web.Short(f.Modified, nameWeight)}
	if keeps(p) {
		asked.Name = cmp.Or(web.Short(asked.Name, maxName), p.T("sending.untitled"))
	} else if err := s.refusal(p, asked); err != nil {
		return "", nil, err
	}
	sub, sent, err := s.Intake.Start(p.R.Context(), asked)
	if errors.Is(err, intake.ErrStale) {
		return "", nil, &web.Refusal{Key: "sending.draft_stale", Args: []any{sub.By, p.When(sub.UpdatedAt)}}
	}
	return sub.CampaignID + "." + sub.File.Object, sent, err
}

// keeps reports whether the file becomes a draft.
func keeps(p *web.Page) bool { return p.Field("keep") != "" }

// refusal returns why a campaign cannot begin, or nil.
func (s *Pages) refusal(p *web.Page, asked submission.Submission) error {
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
		return upload.Ended{Path: web.Root + "/drafts"}, s.Intake.FinishDraft(p.R.Context(), sub, p.AuditEntry("", "campaign.draft", sub.Name))
	}
	return upload.Ended{Path: pathOf(sub)}, s.Intake.Finish(p.R.Context(), sub)
}
