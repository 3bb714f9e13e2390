package web_test

import (
	"net/http"
	"testing"
	"testing/fstest"
	"time"

	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
)

// details is a page with the details of audit entries.
type details struct{ all []string }

func (d details) Register(ui *web.UI, mux *http.ServeMux) {
	ui.Get(mux, web.Root+"/details", web.RoleViewer, func(p *web.Page) error {
		for _, detail := range d.all {
			if _, err := p.W.Write([]byte(p.Detail(detail) + "\n")); err != nil {
				return err
			}
		}
		return nil
	})
}

// Each reader sees the times of a change in the own language.
func TestPage_Detail(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 11, 22, 13, 30, 0, 0, time.UTC)
	d := details{[]string{web.Moved(from, from.Add(24*time.Hour)), "moved once", "some.key"}}
	texts := fstest.MapFS{"texts.json": {Data: []byte(`{"some.key": {"pt": "um texto", "en": "a text"}}`)}}
	area := web.Area{Files: texts, Texts: []string{"some"}}
	who := webtest.New(t, area, d, func() time.Time { return from }).SignIn("t", web.RoleViewer)
	for language, want := range map[string]string{
		"en": "22 Nov 2026, 10:30 → 23 Nov 2026, 10:30\nmoved once\na text\n",
		"pt": "22/11/2026 10:30 → 23/11/2026 10:30\nmoved once\num texto\n",
	} {
		who.Language = language
		if got := who.Get(web.Root + "/details").Body; got != want {
			t.Errorf("%s: %q, want %q", language, got, want)
		}
	}
}
