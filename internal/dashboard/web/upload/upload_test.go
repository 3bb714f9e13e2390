package upload_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"campaign-dispatch/internal/base/inputerr"
	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/upload"
	"campaign-dispatch/internal/dashboard/web/webtest"
)

const path = web.Root + "/files"

// area is an area with a form that uploads files. fault is the error of its uploads.
type area struct{ fault error }

func (a area) uploads() upload.Uploads {
	return upload.Uploads{
		Path: path, Faults: "files.fault.",
		Origin:   func(context.Context) (string, error) { return "https://bucket.example", nil },
		Begin:    func(_ *web.Page, f upload.File) (string, []int, error) { return f.Unfinished + f.Name, nil, a.fault },
		ChunkURL: func(*web.Page, string, int) (string, error) { return "https://bucket.example/chunk", a.fault },
		End:      func(*web.Page, string) (upload.Ended, error) { return upload.Ended{Path: path}, a.fault },
	}
}

func (a area) Register(ui *web.UI, mux *http.ServeMux) {
	upload.Script{}.Register(ui, mux)
	uploads := a.uploads()
	ui.Get(mux, path, web.RoleViewer, func(p *web.Page) error {
		field, err := uploads.Field(p)
		if err != nil {
			return err
		}
		return p.Render("files.title", "files.html", struct{ Upload web.Upload }{field})
	})
	ui.Post(mux, path, web.RoleAuthor, uploads.Start)
	ui.Post(mux, path+"/chunk", web.RoleAuthor, uploads.Chunk)
	ui.Post(mux, path+"/finish", web.RoleAuthor, uploads.Finish)
}

func serve(t *testing.T, fault error) webtest.Person {
	t.Helper()
	files := web.Area{Texts: []string{"files"}, Files: fstest.MapFS{
		"files.html": {Data: []byte(`<form>{{template "upload.html" .}}</form>`)},
		"texts.json": {Data: []byte(`{"files.title": {"pt": "x", "en": "x"}, "files.fault.size": {"pt": "Grande demais.", "en": "Too large."}}`)},
	}}
	return webtest.New(t, files, area{fault}, func() time.Time { return time.Unix(2e9, 0) }).SignIn("loja", web.RoleAuthor)
}

var src = regexp.MustCompile(`<script src="([^"]*/upload\.js)"`)

// Browsers keep the script until it changes, and may send files to the bucket.
func TestUploads_Field(t *testing.T) {
	t.Parallel()
	who := serve(t, nil)
	page := who.Get(path)
	if policy := page.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "connect-src 'self' https://bucket.example;") {
		t.Errorf("the page has the policy %s", policy)
	}
	found := src.FindStringSubmatch(page.Body)
	if found == nil {
		t.Fatalf("the page has no script: %s", page.Body)
	}
	script := who.Get(found[1])
	if cache := script.Header.Get("Cache-Control"); script.Status != http.StatusOK || !strings.Contains(cache, "immutable") || !strings.HasPrefix(script.Header.Get("Content-Type"), "text/javascript") {
		t.Errorf("the script answers %d with %v", script.Status, script.Header)
	}
	if old := who.Get(strings.Replace(found[1], "/upload/", "/upload/0", 1)); old.Status != http.StatusNotFound {
		t.Errorf("another version of the script answers %d, want 404", old.Status)
	}
}

func TestUploads_Calls(t *testing.T) {
	t.Parallel()
	who := serve(t, nil)
	for call, want := range map[string]string{
		"":        `{"id":"7lista.csv","sent":[]}`,
		"/chunk":  `{"url":"https://bucket.example/chunk"}`,
		"/finish": `{"path":"/dashboard/files"}`,
	} {
		if a := who.Post(path+call, url.Values{"fileName": {"lista.csv"}, "size": {"7"}, "id": {"7"}, "chunk": {"1"}}); a.Status != http.StatusOK || a.Body != want {
			t.Errorf("%q answers %d %s, want %s", call, a.Status, a.Body, want)
		}
	}
	for call, form := range map[string]url.Values{"": {"size": {"7 MB"}}, "/chunk": {"chunk": {"one"}}} {
		if a := who.Post(path+call, form); a.Status != http.StatusUnprocessableEntity || !strings.Contains(a.Body, `"error"`) {
			t.Errorf("%q with %v answers %d %s", call, form, a.Status, a.Body)
		}
	}
}

// A person reads why an upload is refused. Other errors are the service's.
func TestUploads_Faults(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault  error
		status int
		want   string
	}{
		"of the area":  {&inputerr.Error{Code: "size"}, http.StatusUnprocessableEntity, `{"error":"Too large."}`},
		"missing":      {&inputerr.Error{Code: port.CodeIncomplete}, http.StatusUnprocessableEntity, "A piece of the file is missing."},
		"a refusal":    {&web.Refusal{Key: "files.fault.size"}, http.StatusUnprocessableEntity, "Too large."},
		"ended":        {campaign.ErrNotFound, http.StatusUnprocessableEntity, "This upload has ended or expired."},
		"of a service": {errors.New("timeout"), http.StatusInternalServerError, ""},
	} {
		who := serve(t, test.fault)
		for _, call := range []string{"", "/chunk", "/finish"} {
			if a := who.Post(path+call, url.Values{"size": {"7"}, "chunk": {"1"}}); a.Status != test.status || !strings.Contains(a.Body, test.want) {
				t.Errorf("%s: %q answers %d %s, want %d %s", name, call, a.Status, a.Body, test.status, test.want)
			}
		}
	}
}
