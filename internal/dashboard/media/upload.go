package media

import (
	"errors"
	"net/http"
	"strconv"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/httpapi/inputerr"
)

// started is the answer to the start of an upload.
type started struct {
	ID     string `json:"id"`
	Upload string `json:"upload"`
}

func (s *Pages) start(p *web.Page) error {
	size, err := strconv.ParseInt(p.Field("size"), 10, 64)
	if err != nil {
		return badForm(p)
	}
	u, err := s.Library.Start(p.R.Context(), p.Session.Tenant, p.Field("name"), size)
	if err != nil {
		return answerError(p, err)
	}
	return p.JSON(http.StatusOK, started{u.ID, u.Upload})
}

func uploadOf(p *web.Page) campaign.MediaUpload {
	return campaign.MediaUpload{ID: p.Field("id"), Upload: p.Field("upload")}
}

// part answers with the URL of a part. It is signed when the browser needs it, because it is
// valid for 15 minutes.
func (s *Pages) part(p *web.Page) error {
	number, err := strconv.Atoi(p.Field("part"))
	if err != nil {
		return badForm(p)
	}
	size, err := strconv.ParseInt(p.Field("size"), 10, 64)
	if err != nil {
		return badForm(p)
	}
	address, err := s.Library.PartURL(p.R.Context(), p.Session.Tenant, uploadOf(p), number, size)
	if err != nil {
		return answerError(p, err)
	}
	return p.JSON(http.StatusOK, map[string]string{"url": address})
}

// finish checks and publishes a file whose parts were sent.
func (s *Pages) finish(p *web.Page) error {
	ctx, u := p.R.Context(), uploadOf(p)
	f, err := s.Library.Check(ctx, p.Session.Tenant, p.Field("name"), u)
	if err != nil {
		return answerError(p, err)
	}
	if err := p.Audit("media.upload", f.Name); err != nil {
		return err
	}
	if f, err = s.Library.Publish(ctx, u, f); err != nil {
		return answerError(p, err)
	}
	if p.Field("leaves") == "1" {
		if err := p.Notify("media.done.uploaded"); err != nil {
			return err
		}
	}
	return p.JSON(http.StatusOK, map[string]string{"link": f.Link(s.URL), "thumbnail": f.ThumbnailLink(s.URL)})
}

func badForm(p *web.Page) error {
	return p.JSON(http.StatusBadRequest, map[string]string{"error": p.T("ui.bad_form")})
}

// answerError answers with the text of an error that is meant for people, and returns others.
func answerError(p *web.Page, err error) error {
	code := "gone"
	if wrong, ok := errors.AsType[*inputerr.Error](err); ok {
		code = wrong.Code
	} else if !errors.Is(err, campaign.ErrNotFound) {
		return err
	}
	return p.JSON(http.StatusUnprocessableEntity, map[string]string{"error": p.T("media.fault." + code)})
}
