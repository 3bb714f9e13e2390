package media

import (
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/upload"
	"campaign-dispatch/internal/media/mediafile"
)

func (s *Pages) uploads() upload.Uploads {
	return upload.Uploads{
		Path: Path + "/uploads", Faults: "media.fault.", Origin: s.Origin, Begin: s.begin, ChunkURL: s.chunkURL, End: s.end,
	}
}

// Upload returns the upload field, and allows the page to upload.
func (s *Pages) Upload(p *web.Page) (web.Upload, error) { return s.uploads().Field(p) }

func (s *Pages) begin(p *web.Page, f upload.File) (id string, sent []int, err error) {
	return s.Library.Start(p.R.Context(), p.Session.Tenant, f.Name, f.Size, f.Unfinished)
}

func (s *Pages) chunkURL(p *web.Page, id string, chunk int) (string, error) {
	return s.Library.ChunkURL(p.R.Context(), p.Session.Tenant, id, chunk)
}

// end checks and publishes a file whose chunks were sent. A page that stays gets its link.
func (s *Pages) end(p *web.Page, id string) (upload.Ended, error) {
	f, err := s.publish(p, id)
	if err != nil || p.Field("stays") == "1" {
		return upload.Ended{Link: f.Link(s.URL)}, err
	}
	return upload.Ended{Path: Path}, p.Notify("upload.sent")
}

func (s *Pages) publish(p *web.Page, id string) (mediafile.File, error) {
	f, err := s.Library.Check(p.R.Context(), p.Session.Tenant, p.Field("fileName"), id)
	if err != nil {
		return f, err
	}
	if err := p.Audit("media.upload", f.Name); err != nil {
		return f, err
	}
	return s.Library.Publish(p.R.Context(), id, f)
}
