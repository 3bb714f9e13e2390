package media_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/media"
)

// site serves files, and counts the requests.
type site struct {
	*httptest.Server
	requests atomic.Int32
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{}
	serve := func(contentType, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			_, _ = w.Write([]byte(body))
		}
	}
	mux := http.NewServeMux()
	mux.Handle("/a.png", serve("image/png", "\x89PNG\r\n\x1a\n"))
	mux.Handle("/b.pdf", serve("application/pdf", "%PDF-1.7"))
	mux.Handle("/c.png", serve("image/jpeg", "\x89PNG\r\n\x1a\n"))
	mux.Handle("/d.html", serve("text/html", "<p>"))
	mux.Handle("/moved", http.RedirectHandler("/a.png", http.StatusFound))
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// Each URL that the provider could not fetch is a flaw at its place.
func TestChecker_Flaws(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	checker := media.Checker{Prober: media.NewProber(true), URL: "https://media.example"}
	card := func(url, thumbnail string) content.Card {
		return content.Card{Title: "t", Media: &content.Media{URL: s.URL + url, ThumbnailURL: thumbnail}}
	}
	found := checker.Flaws(t.Context(), content.Content{Carousel: &content.Carousel{Cards: []content.Card{
		card("/a.png", s.URL+"/b.pdf"), card("/b.pdf", ""), card("/c.png", ""), card("/d.html", ""), card("/moved", ""), card("/none", s.URL+"/a.png"),
	}}}, content.Content{})
	got := map[content.Place]string{}
	for _, f := range found {
		got[f.Place] += string(f.Part) + " " + f.Why
		if f.Code != content.FlawUnusable || f.Detail == "" {
			t.Errorf("%+v", f)
		}
	}
	want := map[content.Place]string{
		{Card: 1}: "thumbnail thumbnail", {Card: 3}: "media content_type", {Card: 4}: "media type", {Card: 5}: "media redirected", {Card: 6}: "media status",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// URLs of the version before, of uploaded files and with variables are not requested, and
// each other one once.
func TestChecker_Requests(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	checker := media.Checker{Prober: media.NewProber(true), URL: s.URL + "/own"}
	file := func(url, thumbnail string) content.Content {
		return content.Content{File: &content.File{URL: url, ThumbnailURL: thumbnail}}
	}
	for name, test := range map[string]struct {
		saved, before content.Content
		requests      int32
	}{
		"new":         {file(s.URL+"/a.png", ""), content.Content{}, 1},
		"twice":       {file(s.URL+"/a.png", s.URL+"/a.png"), content.Content{}, 1},
		"known":       {file(s.URL+"/a.png", s.URL+"/c.png"), file(s.URL+"/c.png", ""), 1},
		"uploaded":    {file(s.URL+"/own/media/x.png", ""), content.Content{}, 0},
		"variable":    {file(s.URL+"/{{x}}", ""), content.Content{}, 0},
		"not of here": {file("https://example.com/a.png", ""), content.Content{}, 0},
	} {
		s.requests.Store(0)
		checker.Flaws(t.Context(), test.saved, test.before)
		if got := s.requests.Load(); got != test.requests {
			t.Errorf("%s: %d requests, want %d", name, got, test.requests)
		}
	}
}

// On AWS, URLs of hosts that are not public are refused without a connection.
func TestChecker_Private(t *testing.T) {
	t.Parallel()
	checker := media.Checker{Prober: media.NewProber(false)}
	for address, want := range map[string]string{
		"https://127.0.0.1/a.png": "private", "https://169.254.169.254/latest": "private", "https://localhost.localdomain.local/": "private", "http://a.example/": "https",
	} {
		found := checker.Flaws(t.Context(), content.Content{File: &content.File{URL: address}}, content.Content{})
		if len(found) != 1 || found[0].Why != want {
			t.Errorf("%s: %+v, want %s", address, found, want)
		}
	}
}
