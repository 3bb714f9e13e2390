package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"mime"
	"net/http"
	"net/url"
	"path"

	"github.com/klauspost/compress/gzhttp"

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
	AssetsLimit = 110_000
	// FontLimit is the maximum size in bytes of the typeface, which is compressed already.
	FontLimit = 60_000
)

// fontType is the content type of the typeface. Package mime knows it on some systems only.
const fontType = "font/woff2"

// hashes are prefixes of the assets' SHA-256 hashes, by name.
var hashes = func() map[string]string {
	sums := map[string]string{}
	entries, err := assets.ReadDir("assets")
	if err != nil {
		panic(err) // the assets are embedded in the binary
	}
	for _, e := range entries {
		sums[e.Name()] = HashOf(asset(e.Name()))
	}
	return sums
}()

func asset(name string) []byte {
	content, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err)
	}
	return content
}

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
	if hash, found := hashes[name]; !found || p.R.PathValue("hash") != hash {
		return campaign.ErrNotFound
	}
	if path.Ext(name) == ".woff2" {
		p.W.Header().Set(gzhttp.HeaderNoCompression, "1")
		return p.Immutable(fontType, asset(name))
	}
	return p.Immutable(mime.TypeByExtension(path.Ext(name)), asset(name))
}

// Immutable answers with a content that browsers can keep, because its path changes with it.
func (p *Page) Immutable(contentType string, content []byte) error {
	p.W.Header().Set("Content-Type", contentType)
	p.W.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, err := p.W.Write(content) //nolint:gosec // files of the areas
	return err
}

// chooseLanguage stores the language in a cookie for a year, and redirects back.
func (ui *UI) chooseLanguage(p *Page) error {
	for _, t := range ui.translations {
		if t.code == p.R.PathValue("code") {
			c := ui.Sessions.NewCookie("", t.code, 365*24*3600) //nolint:gosec // Secure wherever there is HTTPS
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

const (
	// minCompressed is the size in bytes from which an answer is compressed.
	minCompressed = 1400
	// lengthJitter is the maximum number of random bytes that are added to a compressed
	// answer. They hide its exact length: pages contain a secret (the CSRF token) and
	// text of the request, so the length could reveal the secret (the BREACH attack).
	lengthJitter = 64
)

// Compress returns a handler that compresses the answers of h for clients that accept
// gzip.
func Compress(h http.Handler) http.Handler {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(minCompressed), gzhttp.EnableZstd(false), gzhttp.RandomJitter(lengthJitter, 0, false))
	if err != nil {
		panic(err) // the options are constants
	}
	return wrap(h)
}

// icons are the lines of the icons, in a square of 24.
var icons = map[string]string{
	"add":       "M12 5v14M5 12h14",
	"archive":   "M4 5h16v4H4ZM6 9v10h12V9M10 13h4",
	"campaigns": "M21 3 3 10l7 4 4 7ZM10 14 21 3",
	"cancel":    "M6 6l12 12M18 6 6 18",
	"copy":      "M9 9h11v11H9ZM5 15H4V4h11v1",
	"delete":    "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13",
	"docs":      "M12 6c-2-1.5-5-2-8-2v14c3 0 6 .5 8 2 2-1.5 5-2 8-2V4c-3 0-6 .5-8 2Zm0 0v14",
	"download":  "M12 4v11M7 11l5 5 5-5M4 20h16",
	"edit":      "M4 20h4L20 8l-4-4L4 16Z",
	"media":     "M4 5h16v14H4ZM4 16l5-5 4 4 3-2 4 3M15.5 9.5h.01",
	"overview":  "M4 20h16M7 20v-7M12 20V5M17 20v-10",
	"people":    "M9 4a3.5 3.5 0 1 0 0 7 3.5 3.5 0 1 0 0-7ZM3 20c0-4 2.5-6 6-6s6 2 6 6M16 5a3 3 0 0 1 0 6M18 14c2 .8 3 3 3 6",
	"restore":   "M4 12a8 8 0 1 0 3-6.2L4 8M4 4v4h4",
	"search":    "M11 4a7 7 0 1 0 0 14 7 7 0 1 0 0-14ZM16 16l4 4",
	"settings":  "M4 8h8M18 8h2M12 5h6v6h-6ZM4 16h2M12 16h8M6 13h6v6H6Z",
	"templates": "M4 5h16v11H10l-5 4v-4H4ZM8 9h8M8 12.5h5",
	"time":      "M12 4a8 8 0 1 0 0 16 8 8 0 1 0 0-16ZM12 8v4l3 2",
	"upload":    "M12 16V5M7 9l5-5 5 5M4 20h16",
}

// Icon returns an icon in the color of the text beside it. It has no text of its own.
func (*Page) Icon(name string) template.HTML {
	const start, end = `<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d="`, `"/></svg> `
	return template.HTML(start + icons[name] + end) //nolint:gosec // constants
}
