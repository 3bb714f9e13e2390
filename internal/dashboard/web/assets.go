package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path"

	"campaign-dispatch/internal/campaign"
)

//go:embed assets
var assets embed.FS

const (
	// PageLimit is the maximum size in bytes of a page with its style and scripts, as the
	// browser receives them.
	PageLimit = 100_000
	// HTMLLimit is the maximum size in bytes of a page's HTML before its compression.
	HTMLLimit = 60_000
	// UpdateLimit is the maximum size in bytes of a part of a page that htmx asks for, as the
	// browser receives it.
	UpdateLimit = 10_000
	// AssetsLimit is the maximum size in bytes of the style and the scripts before their
	// compression.
	AssetsLimit = 90_000
)

// served are the assets as browsers receive them, by name.
var served = func() map[string][]byte {
	all := map[string][]byte{}
	entries, err := fs.ReadDir(assets, "assets")
	if err != nil {
		panic(err) // the assets are embedded in the binary
	}
	for _, e := range entries {
		content, err := assets.ReadFile("assets/" + e.Name())
		if err != nil {
			panic(err)
		}
		all[e.Name()] = content
	}
	return all
}()

// hashes are prefixes of the assets' SHA-256 hashes, by name.
var hashes = func() map[string]string {
	sums := map[string]string{}
	for name, content := range served {
		sums[name] = HashOf(content)
	}
	return sums
}()

// HashOf returns a prefix of a content's SHA-256 hash. In the path of a style or script, it lets
// browsers keep the content.
func HashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:6])
}

func assetPath(name string) string { return Root + "/assets/" + hashes[name] + "/" + name }

// Register serves the shared style and scripts, the language setting, and the page for
// unknown paths.
func (ui *UI) Register(mux *http.ServeMux) {
	ui.WithoutSession(mux, "GET "+Root+"/assets/{hash}/{name}", serveAsset)
	ui.WithoutSession(mux, "GET "+Root+"/language/{code}", ui.chooseLanguage)
	ui.Public(mux, "/", unknown)
}

func unknown(*Page) error { return campaign.ErrNotFound }

func serveAsset(p *Page) error {
	name := p.R.PathValue("name")
	content, found := served[name]
	if !found || p.R.PathValue("hash") != hashes[name] {
		return campaign.ErrNotFound
	}
	return p.Immutable(mime.TypeByExtension(path.Ext(name)), content)
}

// Immutable answers with a content that browsers can keep, because its path changes with it.
func (p *Page) Immutable(contentType string, content []byte) error {
	p.W.Header().Set("Content-Type", contentType)
	p.W.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, err := p.W.Write(content)
	return err
}

// chooseLanguage stores the language in a cookie for a year, and redirects back.
func (ui *UI) chooseLanguage(p *Page) error {
	for _, t := range ui.translations {
		if t.code == p.R.PathValue("code") {
			c := ui.Sessions.NewCookie("", t.code, 365*24*3600)
			c.Name = langCookie
			http.SetCookie(p.W, c)
			return p.Redirect(LocalPath(p.Query("to")))
		}
	}
	return campaign.ErrNotFound
}

// LocalPath returns a path if it is in the dashboard, else the path of the first page.
func LocalPath(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || path.Clean(u.Path) != u.Path || !within(u.Path, Root) {
		return Root
	}
	return (&url.URL{Path: u.Path, RawQuery: u.RawQuery}).String()
}
