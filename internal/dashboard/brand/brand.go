// Package brand shows how the dashboard presents a tenant: the name of its sender and its
// logo. Admins can change them.
package brand

import (
	"cmp"
	"context"
	"embed"
	"net/http"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dashboard/preview"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/media/mediafile"
)

// Store reads and writes brands, and reads files.
type Store interface {
	// Brand returns the brand of a tenant, of revision 0 if it has none.
	Brand(ctx context.Context, tenant string) (account.Brand, error)
	// SaveBrand writes the revision after that of b, and the entries of the audit log with it. The error wraps
	// campaign.ErrLostRace if that is not the stored one.
	SaveBrand(ctx context.Context, tenant string, b account.Brand, audit ...account.AuditEntry) error
	// MediaFiles returns the files of a tenant, ordered by hash.
	MediaFiles(ctx context.Context, tenant string) ([]mediafile.File, error)
	// Media returns a file. The error wraps campaign.ErrNotFound if it does not exist.
	Media(ctx context.Context, tenant, hash string) (mediafile.File, error)
}

// Pages are the pages of the brand.
type Pages struct {
	Store Store
	// MediaURL is the address of uploaded files.
	MediaURL string
}

//go:embed *.html texts.json
var files embed.FS

// Area returns the pages and texts of the brand.
func Area() web.Area { return web.Area{Files: files, Texts: []string{"brand", "audit"}} }

// Path is the path of the page.
const Path = web.Root + "/settings/brand"

// Register serves the page.
func (s *Pages) Register(ui *web.UI, mux *http.ServeMux) {
	ui.Get(mux, Path, web.RoleViewer, s.show)
	ui.Post(mux, Path, web.RoleAdmin, s.change)
}

type view struct {
	account.Brand
	Logos []logo
	Fault string // the key of a text
	Phone preview.Phone
}

type logo struct {
	Hash, Name string
	Picture    string // URL
	Chosen     bool
}

const (
	// mostLogos is the maximum number of images that the form offers.
	mostLogos = 12
	// mostLogo is the maximum size in bytes of an image that every page loads.
	mostLogo = 50 << 10
	// nameWeight is the maximum size in bytes of an image's name in the page.
	nameWeight = 100
	// phoneWeight is the maximum size in bytes of the example's text.
	phoneWeight = 500
)

func (s *Pages) show(p *web.Page) error {
	b, err := s.Store.Brand(p.R.Context(), p.Session.Tenant)
	if err != nil {
		return err
	}
	return s.render(p, http.StatusOK, b, "")
}

// render shows the page. fault is the key of the form's error, or "".
func (s *Pages) render(p *web.Page, status int, b account.Brand, fault string) error {
	logos, err := s.logos(p, b.Logo)
	if err != nil {
		return err
	}
	v := view{Brand: b, Logos: logos, Fault: fault}
	v.Phone, _ = web.Phone(p, content.Content{Text: p.T("brand.example")}, p.T("brand.preview"), phoneWeight)
	return p.RenderStatus(status, "brand.title", "brand.html", v)
}

// logos returns the newest images of the tenant, and the one of the key.
func (s *Pages) logos(p *web.Page, key string) (logos []logo, err error) {
	all, err := s.Store.MediaFiles(p.R.Context(), p.Session.Tenant)
	mediafile.SortNewest(all)
	for _, f := range all {
		chosen := logoKey(f) == key
		if usable(f) && (chosen || len(logos) < mostLogos) {
			picture := s.MediaURL + "/" + logoKey(f)
			logos = append(logos, logo{Hash: f.Hash, Name: web.Short(f.Name, nameWeight), Picture: picture, Chosen: chosen})
		}
	}
	return logos, err
}

// usable reports whether a file can be a logo: an image that is small or has a thumbnail, and
// is not being deleted.
func usable(f mediafile.File) bool {
	return f.URL == "" && !f.Deleting && strings.HasPrefix(f.Type, "image/") && (f.Thumbnail || f.Size <= mostLogo)
}

// logoKey returns the key of the image that pages load: a thumbnail in place of a large one.
func logoKey(f mediafile.File) string {
	if f.Thumbnail && f.Size > mostLogo {
		return f.ThumbnailKey()
	}
	return f.Key()
}

// change saves the brand. If somebody has changed it since the form was opened, the form
// says so, and is saved when it is sent again.
func (s *Pages) change(p *web.Page) error {
	ctx, tenant := p.R.Context(), p.Session.Tenant
	b, fault, err := s.read(p)
	if err != nil {
		return err
	}
	if fault != "" {
		return s.render(p, http.StatusUnprocessableEntity, b, fault)
	}
	stored, err := s.Store.Brand(ctx, tenant)
	if err != nil {
		return err
	}
	return web.Setting[account.Brand]{
		Read:  func() (account.Brand, error) { return s.Store.Brand(ctx, tenant) },
		Has:   func(stored account.Brand) bool { return b.Sender == stored.Sender && b.Logo == stored.Logo },
		Stale: func(stored account.Brand) bool { return b.Revision != stored.Revision },
		Save: func(account.Brand) error {
			return s.Store.SaveBrand(ctx, tenant, b, p.AuditEntry(Path, "brand.change", cmp.Or(b.Sender, "–")))
		},
		Saved: func() error { return p.Done(Path, "brand.saved") },
		Overtaken: func(stored account.Brand) error {
			b.Revision = stored.Revision
			return s.render(p, http.StatusConflict, b, "brand.fault.changed")
		},
	}.Change(stored)
}

// read returns the brand of the form, and the key of what is wrong with it.
func (s *Pages) read(p *web.Page) (b account.Brand, fault string, err error) {
	revision, err := strconv.ParseUint(p.Field("revision"), 10, 31)
	if err != nil {
		return b, "", web.BadForm()
	}
	b = account.Brand{Sender: p.Field("sender"), Revision: int(revision)}
	if hash := p.Field("logo"); hash != "" {
		if b.Logo, err = s.key(p, hash); err != nil {
			return b, "", err
		}
		if b.Logo == "" {
			fault = "brand.fault.logo"
		}
	}
	if !validName(b.Sender) {
		b.Sender, fault = web.Short(b.Sender, 4*account.MaxSenderName), "brand.fault.sender"
	}
	return b, fault, nil
}

// key returns the key of an image of the tenant, or "" if there is none.
func (s *Pages) key(p *web.Page, hash string) (string, error) {
	if !mediafile.IsHash(hash) {
		return "", nil
	}
	f, err := s.Store.Media(p.R.Context(), p.Session.Tenant, hash)
	if err != nil || !usable(f) {
		return "", campaign.IgnoreNotFound(err)
	}
	return logoKey(f), nil
}

func validName(name string) bool {
	return utf8.ValidString(name) && utf8.RuneCountInString(name) <= account.MaxSenderName && !strings.ContainsFunc(name, unicode.IsControl)
}
