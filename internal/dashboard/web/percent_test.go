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

// percentages shows the delivered ones of the sent messages of the query.
type percentages struct{}

func (percentages) Register(ui *web.UI, mux *http.ServeMux) {
	ui.Get(mux, web.Root+"/percent", web.RoleViewer, func(p *web.Page) error {
		n, _ := strconv.Atoi(p.Query("n"))
		of, _ := strconv.Atoi(p.Query("of"))
		return p.Fragment("percent.html", campaign.DayCounts{Sent: of, Delivered: n}.Rate(campaign.StepDelivered))
	})
}

var percentFiles = fstest.MapFS{
	"texts.json":   {Data: []byte(`{}`)},
	"percent.html": {Data: []byte(`{{.Percent .Data.N .Data.Of}}|{{.Rate .Data}}`)},
}

// Only all is 100%, only none is 0%, halves are rounded up, and a rate names its base.
func TestPage_Percent(t *testing.T) {
	t.Parallel()
	who := webtest.New(t, web.Area{Files: percentFiles}, percentages{}, clock).SignIn("acme", web.RoleViewer)
	who.Language = "pt"
	for query, want := range map[string]string{
		"n=9983&of=9987": "99,9%|99,9% das enviadas", "n=9987&of=9987": "100%|100% das enviadas", "n=199999&of=200000": "99,9%|99,9% das enviadas",
		"n=3&of=9987": "&lt; 0,1%|&lt; 0,1% das enviadas", "n=0&of=9987": "0%|0% das enviadas", "n=1&of=1000": "0,1%|0,1% das enviadas",
		"n=1&of=3": "33,3%|33,3% das enviadas", "n=3&of=80": "3,8%|3,8% das enviadas", "n=5&of=80": "6,3%|6,3% das enviadas",
		"n=3&of=2": "150%|150% das enviadas", "n=0&of=0": "|",
	} {
		if got := who.Get(web.Root + "/percent?" + query).Body; got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}
