package web_test

import (
	"net/http"
	"testing"
	"testing/fstest"

	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
)

// reasons shows why messages with the code of the query ended.
type reasons struct{}

func (reasons) Register(ui *web.UI, mux *http.ServeMux) {
	ui.Get(mux, web.Root+"/reasons", web.RoleViewer, func(p *web.Page) error { return p.Fragment("reason.html", p.Query("code")) })
}

var reasonsFiles = fstest.MapFS{
	"texts.json":  {Data: []byte(`{}`)},
	"reason.html": {Data: []byte(`{{.Reason .Data}}{{if not (.HasReason .Data)}} ({{.Data}}){{end}}`)},
}

func TestPage_Reason(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ code, language, want string }{
		"Portuguese":            {"erased", "pt", "Os dados do destinatário foram apagados antes do envio."},
		"English":               {"rejected", "en", "The provider refused the message."},
		"English of pages":      {"no_answer", "en", "The provider did not report what happened to the message."},
		"unknown in Portuguese": {"new", "pt", "Não foi possível entregar a mensagem. (new)"},
		"unknown in English":    {"new", "en", "The message could not be delivered. (new)"},
		"failed":                {"failed", "en", "The message could not be delivered."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			who := webtest.New(t, web.Area{Files: reasonsFiles}, reasons{}, clock).SignIn("acme", web.RoleViewer)
			who.Language = test.language
			if got := who.Get(web.Root + "/reasons?code=" + test.code).Body; got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
