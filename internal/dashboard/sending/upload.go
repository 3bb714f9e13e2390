package sending

import (
	"errors"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/upload"
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

// beginUpload begins the submission of a file, or continues the upload of the same file.
func (s *Pages) beginUpload(p *web.Page, f upload.File) (id string, sent []int, err error) {
	draft, _ := campaign.ParseUUID(p.Field("draft"))
	version, _ := strconv.Atoi(p.Field("draftVersion"))
	asked := submission.Submission{
		ID: campaign.ID{Tenant: p.Session.Tenant}, By: p.Session.Email, Name: p.Field("name"), TemplateID: strings.ToLower(p.Field("template")),
		Schedule: p.Field("schedule"), NotAfter: p.Field("notAfter"), Draft: draft, DraftVersion: version,
		File: submission.File{Name: web.Short(path.Base(f.Name), nameWeight), Size: f.Size, Modified: web.Short(f.Modified, nameWeight)},
	}
	if err := s.refusal(p, asked); err != nil {
		return "", nil, err
	}
	sub, sent, err := s.Intake.Start(p.R.Context(), asked)
	return sub.CampaignID, sent, err
}

// refusal returns why a campaign cannot begin, or nil.
func (s *Pages) refusal(p *web.Page, asked submission.Submission) error {
	_, err := s.template(p, asked.TemplateID)
	switch {
	case errors.Is(err, campaign.ErrNotFound):
		return &web.Refusal{Key: "refusal.template_not_found"}
	case err != nil:
		return err
	case asked.Name == "":
		return &web.Refusal{Key: "sending.no_name"}
	case utf8.RuneCountInString(asked.Name) > maxName:
		return &web.Refusal{Key: "sending.long_name", Args: []any{p.Number(maxName)}}
	case s.Intake.TooLate(asked):
		return &web.Refusal{Key: "imports.late"}
	}
	return nil
}

func (s *Pages) chunkURL(p *web.Page, id string, chunk int) (string, error) {
	sub, err := s.find(p, id)
	if err != nil {
		return "", err
	}
	return s.Intake.ChunkURL(p.R.Context(), sub, chunk)
}

func (s *Pages) endUpload(p *web.Page, id string) (upload.Ended, error) {
	sub, err := s.find(p, id)
	if err != nil {
		return upload.Ended{}, err
	}
	return upload.Ended{Path: pathOf(sub)}, s.Intake.Finish(p.R.Context(), sub)
}
