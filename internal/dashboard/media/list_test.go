package media_test

import (
	"context"
	"strings"
	"testing"
	"time"

	pages "campaign-dispatch/internal/dashboard/media"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/media/mediafile"
)

// shelf is the files of a tenant.
type shelf struct {
	pages.Store
	files []mediafile.File
}

func (s shelf) MediaFiles(context.Context, string) ([]mediafile.File, error) { return s.files, nil }

// Each file is an item of a list, with its picture or its kind instead, and its whole address.
func TestList(t *testing.T) {
	t.Parallel()
	files := shelf{files: []mediafile.File{
		{Hash: strings.Repeat("a", 64), Name: "tênis.png", Type: "image/png", Size: 24_000, Width: 1600, Height: 800, Thumbnail: true, CreatedAt: now},
		{Hash: strings.Repeat("b", 64), Name: "termos.pdf", Type: "application/pdf", Size: 1_200_000, CreatedAt: now},
	}}
	d := webtest.New(t, pages.Area(), &pages.Pages{Store: files, URL: "https://cdn.example"}, func() time.Time { return now })
	list := d.SignIn("acme", web.RoleViewer).Get(pages.Path)
	for i, want := range []string{
		"tênis.png PNG image, 1,600 × 800 · 24 kB Added 4 May 2026, 12:00 " + files.files[0].Link("https://cdn.example"),
		"PDF document termos.pdf PDF document · 1,172 kB Added 4 May 2026, 12:00 " + files.files[1].Link("https://cdn.example"),
	} {
		if !strings.Contains(list.Text(), want) {
			t.Errorf("the list does not say %q:\n%s", want, list.Text())
		}
		if picture := files.files[i].ThumbnailLink("https://cdn.example"); picture != "" && !strings.Contains(list.Body, `src="`+picture+`"`) {
			t.Errorf("%s has no picture", files.files[i].Name)
		}
	}
	if n := strings.Count(list.Body, `<li class="card">`); n != len(files.files) {
		t.Errorf("the list has %d items, want %d", n, len(files.files))
	}
}
