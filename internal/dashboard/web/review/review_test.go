package review_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/dashboard/sending"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/review"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/intake/submission"
)

const path = web.Root + "/reading"

// reading changes how a file is read by the form that it gets.
type reading struct {
	was submission.Reading
	got *submission.Reading
}

func (r reading) Register(ui *web.UI, mux *http.ServeMux) {
	ui.Post(mux, path, web.RoleViewer, func(p *web.Page) error {
		changed, wrong := review.Changed(p, r.was)
		if *r.got = changed; wrong {
			return web.BadForm()
		}
		return p.Fragment("fields.html", review.Fields(changed))
	})
}

var files = fstest.MapFS{
	"texts.json":  {Data: []byte(`{}`)},
	"fields.html": {Data: []byte(`{{template "review_fields.html" .}}`)},
}

// The form of the choices keeps the corrected numbers, unless the lines are others. That of the numbers keeps the choices.
func TestChanged(t *testing.T) {
	t.Parallel()
	was := submission.Reading{Sheet: "a", Hidden: true, Corrections: map[int]string{2: "+5511987654321"}}
	for name, test := range map[string]struct {
		form url.Values
		want submission.Reading
	}{
		"the same":       {url.Values{"choices": {"1"}, "sheet": {"a"}, "hidden": {"1"}}, was},
		"without hidden": {url.Values{"choices": {"1"}, "sheet": {"a"}}, submission.Reading{Sheet: "a", Corrections: was.Corrections}},
		"another sheet":  {url.Values{"choices": {"1"}, "sheet": {"b"}}, submission.Reading{Sheet: "b"}},
		"another number": {
			url.Values{"correct.3": {"11 98765-4322"}},
			submission.Reading{Sheet: "a", Hidden: true, Corrections: map[int]string{2: "+5511987654321", 3: "+5511987654322"}},
		},
		"no line": {url.Values{"correct.-1": {"11987654322"}, "correct.x": {"11987654322"}, "correct.": {"11987654322"}}, was},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got submission.Reading
			who := webtest.Serve(t, webtest.UI(t, time.Now), web.Area{Files: files}, reading{was, &got}, sending.Area()).SignIn("acme", web.RoleViewer)
			a := who.Post(path, test.form)
			if diff := cmp.Diff(test.want, got); diff != "" || a.Status != http.StatusOK {
				t.Errorf("answered %d, the reading (-want +got):\n%s", a.Status, diff)
			}
			if same := review.Same(got, was); same != (name == "the same" || name == "no line") {
				t.Errorf("the readings are the same: %v", same)
			}
			if kept := strings.Contains(a.Body, `name="correct.2" value="&#43;5511987654321"`); kept != (name != "another sheet") {
				t.Errorf("the fields of the form:\n%s", a.Body)
			}
		})
	}
}

// No form corrects more numbers than a review offers.
func TestChanged_TooMany(t *testing.T) {
	t.Parallel()
	var got submission.Reading
	who := webtest.Serve(t, webtest.UI(t, time.Now), web.Area{Files: files}, reading{submission.Reading{}, &got}, sending.Area()).SignIn("acme", web.RoleViewer)
	form := url.Values{}
	for line := range submission.MaxCorrections + 1 {
		form.Set("correct."+string(rune('1'+line%9))+strings.Repeat("0", line/9), "11987654321")
	}
	if a := who.Post(path, form); a.Status != http.StatusBadRequest {
		t.Errorf("answered %d for %d numbers", a.Status, len(form))
	}
}
