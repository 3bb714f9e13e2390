package web_test

import (
	"net/http"
	"strconv"
	"testing"
	"testing/fstest"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
)

// classes shows the numbers of the query.
type classes struct{}

func (classes) Register(ui *web.UI, mux *http.ServeMux) {
	ui.Get(mux, web.Root+"/classes", web.RoleViewer, func(p *web.Page) error {
		basic, _ := strconv.Atoi(p.Query("basic"))
		single, _ := strconv.Atoi(p.Query("single"))
		return p.Fragment("classes.html", campaign.ClassCounts{Basic: basic, Single: single})
	})
}

var classFiles = fstest.MapFS{
	"texts.json":   {Data: []byte(`{}`)},
	"classes.html": {Data: []byte(`{{.Classes .Data}}`)},
}

// A billing class without messages is left out.
func TestPage_Classes(t *testing.T) {
	t.Parallel()
	who := webtest.New(t, web.Area{Files: classFiles}, classes{}, clock).SignIn("acme", web.RoleViewer)
	who.Language = "pt"
	for query, want := range map[string]string{
		"basic=2000&single=1": "básicas: 2.000, completas: 1", "basic=2": "básicas: 2", "single=3": "completas: 3", "": "0",
	} {
		if got := who.Get(web.Root + "/classes?" + query).Body; got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}
