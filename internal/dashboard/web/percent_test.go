package web_test

import (
	"net/http"
	"strconv"
	"testing"
	"testing/fstest"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/insight"
)

// percentages shows the delivered ones of the sent messages of the query.
type percentages struct{}

func (percentages) Register(ui *web.UI, mux *http.ServeMux) {
	ui.Get(mux, web.Root+"/percent", web.RoleViewer, func(p *web.Page) error {
		n, _ := strconv.Atoi(p.Query("n"))
		of, _ := strconv.Atoi(p.Query("of"))
		return p.Fragment("percent.html", insight.RateOfDay(campaign.DayCounts{Sent: of, Delivered: n}, insight.StepDelivered))
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

// numbered shows the number of the query.
type numbered struct{}

func (numbered) Register(ui *web.UI, mux *http.ServeMux) {
	ui.Get(mux, web.Root+"/number", web.RoleViewer, func(p *web.Page) error {
		n, _ := strconv.Atoi(p.Query("n"))
		return p.Fragment("number.html", n)
	})
}

// Whole numbers are those of package number, in both languages.
func TestPage_Number(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"texts.json": {Data: []byte(`{}`)}, "number.html": {Data: []byte(`{{.Number .Data}}`)}}
	who := webtest.New(t, web.Area{Files: files}, numbered{}, clock).SignIn("acme", web.RoleViewer)
	for code, tag := range map[string]language.Tag{"pt": language.BrazilianPortuguese, "en": language.English} {
		who.Language = code
		for _, n := range []int{0, 7, 999, 1000, 9999, 12_345, 123_456, 1_000_000, 1_234_567_890, -1, -999, -1000, -123_456} {
			want := message.NewPrinter(tag).Sprint(number.Decimal(n))
			if got := who.Get(web.Root + "/number?n=" + strconv.Itoa(n)).Body; got != want {
				t.Errorf("%d in %s: %q, want %q", n, code, got, want)
			}
		}
	}
}
