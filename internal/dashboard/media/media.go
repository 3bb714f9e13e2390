// Package media shows the files that a tenant's messages can show. Authors upload and delete
// them. Browsers send a file in chunks directly to the media bucket.
package media

import (
	"context"
	"embed"
	"errors"
	"net/http"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/upload"
	"campaign-dispatch/internal/media"
	"campaign-dispatch/internal/media/mediafile"
)

// Store reads files.
type Store interface {
	// MediaFiles returns the files of a tenant, ordered by hash.
	MediaFiles(ctx context.Context, tenant string) ([]mediafile.File, error)
	// Media returns a file. The error wraps campaign.ErrNotFound if there is none.
	Media(ctx context.Context, tenant, hash string) (mediafile.File, error)
}

// Pages are the pages of the files.
type Pages struct {
	Store   Store
	Library *media.Library
	// Origin returns the origin to which browsers send the chunks of a file.
	Origin func(ctx context.Context) (string, error)
	// URL is the address of uploaded files.
	URL string
}

//go:embed *.html texts.json
var files embed.FS

// Area returns the pages and texts of the files.
func Area() web.Area { return web.Area{Files: files, Texts: []string{"media", "audit"}} }

// Path is the path of the files.
const Path = web.Root + "/media"

// Register serves the pages.
func (s *Pages) Register(ui *web.UI, mux *http.ServeMux) {
	ui.Get(mux, Path, web.RoleViewer, s.list)
	uploads := s.uploads()
	ui.Post(mux, Path+"/uploads", web.RoleAuthor, uploads.Start)
	ui.Post(mux, Path+"/uploads/chunk", web.RoleAuthor, uploads.Chunk)
	ui.Post(mux, Path+"/uploads/finish", web.RoleAuthor, uploads.Finish)
	ui.Post(mux, Path+"/urls", web.RoleAuthor, s.addURL)
	ui.Get(mux, Path+"/{hash}/delete", web.RoleAuthor, web.With(s.find, s.ask))
	ui.Post(mux, Path+"/{hash}/delete", web.RoleAuthor, s.delete)
}

const (
	pageLength = 10
	nameWeight = 300 // bytes of a name in a page
)

type listing struct {
	web.ListPage[view]
	Upload  web.Upload
	Address string // URL that was refused
	Fault   string // text key of the refusal
}

type view struct {
	mediafile.File
	Short     string // name
	Link      string
	Picture   string // URL of the thumbnail, or ""
	Kilobytes int
	Kind      string // text key
	Large     bool   // larger than the provider recommends
}

// The provider recommends these sizes in bytes.
const (
	recommendedImage = 2 << 20
	recommendedVideo = 10 << 20
)

func (s *Pages) view(f mediafile.File) view {
	return view{
		File: f, Short: web.Short(f.Name, nameWeight), Link: f.Link(s.URL), Picture: f.ThumbnailLink(s.URL),
		Kilobytes: int((f.Size + 1023) >> 10), Kind: "media.type." + f.Type,
		Large: (f.Width > 0 && f.Size > recommendedImage) || (f.Type == "video/mp4" && f.Size > recommendedVideo),
	}
}

func (s *Pages) list(p *web.Page) error {
	return s.show(p, http.StatusOK, listing{})
}

func (s *Pages) show(p *web.Page, status int, l listing) error {
	all, err := s.Store.MediaFiles(p.R.Context(), p.Session.Tenant)
	if err != nil {
		return err
	}
	mediafile.SortNewest(all)
	part, err := web.ListPageOf(p, all, pageLength)
	if err != nil {
		return err
	}
	l.ListPage = web.Convert(part, s.view)
	p.ShowMedia()
	if p.Author() {
		if l.Upload, err = s.Upload(p); err != nil {
			return err
		}
	}
	return p.RenderStatus(status, "media.title", "media.html", l)
}

func (s *Pages) addURL(p *web.Page) error {
	address := p.Field("address")
	f, err := s.Library.CheckURL(p.R.Context(), p.Session.Tenant, address)
	if fault := web.FaultOf("media.fault.", err); fault != "" {
		return s.show(p, http.StatusUnprocessableEntity, listing{Address: address, Fault: fault})
	}
	if err != nil {
		return err
	}
	if err := p.Audit("media.add", f.URL); err != nil {
		return err
	}
	err = s.Library.AddURL(p.R.Context(), f)
	if fault := web.FaultOf("media.fault.", err); fault != "" {
		return &web.Refusal{Status: http.StatusUnprocessableEntity, Key: fault, To: Path, ToKey: "media.all"}
	}
	if err != nil {
		return err
	}
	return p.Done(Path, "media.done.added")
}

func (s *Pages) find(p *web.Page) (mediafile.File, error) {
	hash := p.R.PathValue("hash")
	if !mediafile.IsHash(hash) {
		return mediafile.File{}, campaign.ErrNotFound
	}
	return s.Store.Media(p.R.Context(), p.Session.Tenant, hash)
}

type deletion struct {
	view
	ShownIn *campaign.Template // nil if the file can be deleted
}

func (s *Pages) ask(p *web.Page, f mediafile.File) error {
	template, err := s.Library.ShownIn(p.R.Context(), f)
	if err != nil {
		return err
	}
	p.ShowMedia()
	return p.Render("media.delete_title", "media_delete.html", deletion{s.view(f), template})
}

func (s *Pages) delete(p *web.Page) error {
	f, err := s.find(p)
	if errors.Is(err, campaign.ErrNotFound) {
		return p.Done(Path, "media.done.deleted") // the form was sent twice
	}
	if err != nil {
		return err
	}
	if err := p.Audit("media.delete", f.Name); err != nil {
		return err
	}
	template, err := s.Library.Delete(p.R.Context(), f)
	if err != nil {
		return err
	}
	if template != nil {
		return &web.Refusal{
			Status: http.StatusConflict, Key: "media.in_use", Args: []any{template.Name, template.Version}, To: Path, ToKey: "media.all",
		}
	}
	return p.Done(Path, "media.done.deleted")
}

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
