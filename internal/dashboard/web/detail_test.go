package web_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"campaign-dispatch/internal/campaign/window"
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
	week := window.Week{time.Sunday: {From: 600, Until: 720}, time.Monday: {From: 540, Until: 1260}, time.Tuesday: {From: 540, Until: 1260}, time.Friday: {From: 540, Until: 1260}}
	d := details{[]string{
		web.Moved(from, from.Add(24*time.Hour)), "moved once", "some.key",
		web.Said("some.args", web.AuditMoney(75_500, "some.key"), web.AuditMoney(0, "some.key")),
		web.Said("some.args", web.AuditNumber(1_000), web.AuditNumber(0)),
		web.Said("some.args", web.AuditDates([]string{"07-09", "2026-12-24"}, "some.key"), web.AuditDates(nil, "some.key")),
		web.Said("some.args", web.AuditWeek(week), web.AuditText("some.key")),
		web.Said("some.args", web.AuditFree(`31 of 4,630; "few" + 1 %`), web.AuditFree("ação {0}")),
		"said some.args money:x odd",
	}}
	for _, detail := range d.all {
		if strings.Contains(detail, ",") {
			t.Errorf("%q would be two details", detail)
		}
	}
	texts := fstest.MapFS{"texts.json": {Data: []byte(`{"some.key": {"pt": "um texto", "en": "a text"}, "some.args": {"pt": "de {0} a {1}", "en": "{0} to {1}"}}`)}}
	area := web.Area{Files: texts, Texts: []string{"some"}}
	who := webtest.New(t, area, d, func() time.Time { return from }).SignIn("t", web.RoleViewer)
	for language, want := range map[string]string{
		"en": "22 Nov 2026, 10:30 → 23 Nov 2026, 10:30\nmoved once\na text\nR$\u00a00.0755 to a text\n1,000 to 0\n" +
			"9 Jul, 24 Dec 2026 to a text\nMonday to Tuesday 09:00–21:00, Friday 09:00–21:00, Sunday 10:00–12:00 to a text\n31 of 4,630; \"few\" + 1 % to ação {0}\nmoney:x to odd\n",
		"pt": "22/11/2026 10:30 → 23/11/2026 10:30\nmoved once\num texto\nde R$\u00a00,0755 a um texto\nde 1.000 a 0\n" +
			"de 09/07, 24/12/2026 a um texto\nde segunda a terça 09:00–21:00, sexta 09:00–21:00, domingo 10:00–12:00 a um texto\nde 31 of 4,630; \"few\" + 1 % a ação {0}\nde money:x a odd\n",
	} {
		who.Language = language
		if got := who.Get(web.Root + "/details").Body; got != want {
			t.Errorf("%s: %q, want %q", language, got, want)
		}
	}
}
