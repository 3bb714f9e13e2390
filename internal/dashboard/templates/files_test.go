package templates_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"campaign-dispatch/internal/dashboard/templates"
	"campaign-dispatch/internal/media/mediafile"
)

// The fields of files offer the tenant's own files, also after a part is added.
func TestEditor_Files(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, f := range []mediafile.File{
		{Tenant: b.tenant, Hash: "aa", Name: "tênis.png", Type: "image/png"},
		{Tenant: b.tenant, Hash: "bb", Name: "velho.png", Type: "image/png"},
		{Tenant: b.tenant + "-other", Hash: "cc", Name: "alheio.png", Type: "image/png"},
	} {
		if _, err := b.store.AddMedia(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.store.MarkMedia(t.Context(), mediafile.File{Tenant: b.tenant, Hash: "bb"}, true); err != nil {
		t.Fatal(err)
	}
	const want = `<datalist id="files"><option value="https://media.example/media/aa.png">tênis.png</option></datalist>`
	page := b.admin.Get(templates.Path + "/new")
	added := b.admin.Post(templates.Path, url.Values{"kind": {"card"}, "do": {"add "}, "once": {page.Value("once")}})
	for name, body := range map[string]string{"new": page.Body, "after an addition": added.Body} {
		if !strings.Contains(body, want) || !strings.Contains(body, ` list="files"`) {
			t.Errorf("%s: the form does not offer the tenant's file alone", name)
		}
	}
}

// A media URL that the provider could not fetch is refused at its field, and nothing is
// saved.
func TestSave_UnusableMedia(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	site := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(site.Close)
	form := func() url.Values {
		return url.Values{
			"kind": {"card"}, "name": {"Cupom"}, "card-title": {"Oi"}, "card-media": {site.URL + "/a.png"}, "once": {b.admin.Get(templates.Path + "/new").Value("once")},
		}
	}
	got := b.admin.Post(templates.Path, form())
	if got.Status != http.StatusUnprocessableEntity || !strings.Contains(got.Body, `id="card-media-e">Image or video URL: `) && !strings.Contains(got.Body, `id="card-media-e">Address of the picture`) {
		t.Errorf("%d: %s", got.Status, got.Text())
	}
	if all, err := b.store.Templates(t.Context(), b.tenant); err != nil || len(all) != 0 {
		t.Errorf("%d templates were saved (%v)", len(all), err)
	}
}
