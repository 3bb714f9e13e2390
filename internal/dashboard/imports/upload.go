package imports

import (
	"errors"
	"net/http"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/httpapi/inputerr"
	"campaign-dispatch/internal/intake/submission"
)

// maxName is the maximum number of characters of a campaign's name.
const maxName = 1000

// started is the answer to the start of an upload.
type started struct {
	ID    string `json:"id"`
	Parts []int  `json:"parts"` // the numbers of the parts that are uploaded
}

// start begins an upload, or continues the one of the same file.
func (s *Pages) start(p *web.Page) error {
	size, err := strconv.ParseInt(p.Field("size"), 10, 64)
	if err != nil {
		return refuse(p, "ui.bad_form")
	}
	draft, _ := campaign.ParseUUID(p.Field("draft"))
	version, _ := strconv.Atoi(p.Field("draftVersion"))
	asked := submission.Submission{
		ID: campaign.ID{Tenant: p.Session.Tenant}, By: p.Session.Email, Name: p.Field("name"), TemplateID: strings.ToLower(p.Field("template")),
		Schedule: p.Field("schedule"), NotAfter: p.Field("notAfter"), Draft: draft, DraftVersion: version,
		File: submission.File{
			Name: web.Short(path.Base(p.Field("fileName")), nameWeight), Size: size, Modified: web.Short(p.Field("modified"), nameWeight),
		},
	}
	if _, err := s.template(p, asked.TemplateID); errors.Is(err, campaign.ErrNotFound) {
		return refuse(p, "refusal.template_not_found")
	} else if err != nil {
		return err
	}
	switch {
	case asked.Name == "":
		return refuse(p, "sending.no_name")
	case utf8.RuneCountInString(asked.Name) > maxName:
		return refuse(p, "sending.long_name", p.Number(maxName))
	case s.Intake.TooLate(asked):
		return refuse(p, "imports.late")
	}
	sub, parts, err := s.Intake.Start(p.R.Context(), asked)
	if err != nil {
		return answerError(p, err)
	}
	answer := started{ID: sub.CampaignID, Parts: []int{}}
	for number := range parts {
		answer.Parts = append(answer.Parts, number)
	}
	return p.JSON(http.StatusOK, answer)
}

// part answers with the URL of a part. It is signed when the browser needs it, because it is
// valid for 15 minutes.
func (s *Pages) part(p *web.Page) error {
	number, err := strconv.Atoi(p.Field("part"))
	if err != nil {
		return refuse(p, "ui.bad_form")
	}
	sub, err := s.find(p, p.Field("id"))
	if err != nil {
		return answerError(p, err)
	}
	address, err := s.Intake.PartURL(p.R.Context(), sub, number)
	if err != nil {
		return answerError(p, err)
	}
	return p.JSON(http.StatusOK, map[string]string{"url": address})
}

// finish ends an upload whose parts were sent.
func (s *Pages) finish(p *web.Page) error {
	sub, err := s.find(p, p.Field("id"))
	if err != nil {
		return answerError(p, err)
	}
	if err := s.Intake.Finish(p.R.Context(), sub); err != nil {
		return answerError(p, err)
	}
	return p.JSON(http.StatusOK, map[string]string{"path": pathOf(sub)})
}

func refuse(p *web.Page, key string, args ...any) error {
	return p.JSON(http.StatusUnprocessableEntity, map[string]string{"error": p.T(key, args...)})
}

// answerError answers with the text of an error that is meant for people, and returns others.
func answerError(p *web.Page, err error) error {
	if wrong, ok := errors.AsType[*inputerr.Error](err); ok {
		return refuse(p, "imports.fault."+wrong.Code)
	}
	if errors.Is(err, campaign.ErrNotFound) {
		return refuse(p, "imports.fault.gone")
	}
	return err
}
