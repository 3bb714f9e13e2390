package web_test

import (
	"html"
	"io/fs"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
)

var links = regexp.MustCompile(`<a id="as" href="[^"]*">`)

// waiting is a page that waits for something that never happens.
type waiting struct{}

func (waiting) Register(ui *web.UI, mux *http.ServeMux) {
	ui.Get(mux, web.Root+"/waiting", web.RoleViewer, func(p *web.Page) error {
		p.RefreshEvery(web.Often)
		return p.RenderOr("waiting.html", "ui.campaigns", "waiting.html", nil)
	})
}

var waitingFiles = fstest.MapFS{
	"texts.json": {Data: []byte(`{}`)},
	"waiting.html": {Data: []byte(`<p hx-get="{{.UpdateFrom "/dashboard/waiting?of=a&b"}}" hx-trigger="every {{.Soon}}">
<a id="as" href="{{.With "chart" "table"}}">`)},
}

// A tab that waits for 8 hours makes at most 800 requests, with scripts and without, and is fast at first.
func TestPage_TabOfEightHours(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		next  *regexp.Regexp // the interval and the URL
		waits string
	}{
		"with scripts":    {regexp.MustCompile(`hx-get="(?P<url>[^"]+)" hx-trigger="every (?P<every>[0-9]+)s"`), "2 5 15 60"},
		"without scripts": {regexp.MustCompile(`<noscript><meta http-equiv="refresh" content="(?P<every>[0-9]+); url=(?P<url>[^"]+)">`), "5 15 60"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := clock()
			who := webtest.New(t, web.Area{Files: waitingFiles}, waiting{}, func() time.Time { return now }).SignedIn(web.Session{
				Tenant: "acme", Email: "ana@example.com", Role: web.RoleViewer, Expires: now.Add(24 * time.Hour),
			})
			if strings.HasPrefix(test.waits, "2") {
				who.Header = http.Header{"Hx-Request": {"true"}}
			}
			path, requests, waits := web.Root+"/waiting", 0, []string{""}
			for end := now.Add(8 * time.Hour); now.Before(end); requests++ {
				a := who.Get(path)
				next := test.next.FindStringSubmatch(a.Body)
				if next == nil {
					t.Fatalf("after %d requests, the page is %q", requests, a.Body)
				}
				path = html.UnescapeString(next[test.next.SubexpIndex("url")])
				every := next[test.next.SubexpIndex("every")]
				if waits[len(waits)-1] != every {
					waits = append(waits, every)
				}
				seconds, err := strconv.Atoi(every)
				if err != nil {
					t.Fatal(err)
				}
				now = now.Add(time.Duration(seconds) * time.Second)
				if link := links.FindString(a.Body); !strings.Contains(link, "chart=table") || strings.Contains(link, "opened") {
					t.Fatalf("the link %s does not open the page again", link)
				}
			}
			t.Logf("%d requests", requests)
			if got := strings.Join(waits[1:], " "); requests > 800 || got != test.waits {
				t.Errorf("%d requests, intervals %s", requests, got)
			}
		})
	}
}

// Only an interval that a page computes slows down.
func TestTemplates_NoFixedInterval(t *testing.T) {
	t.Parallel()
	intervals, fixed := regexp.MustCompile(`hx-trigger\s*=\s*["'][^"']*\bevery\s`), regexp.MustCompile(`\bevery\s+[^{\s]`)
	found := 0
	err := fs.WalkDir(os.DirFS(".."), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".html") {
			return err
		}
		page, err := os.ReadFile("../" + path)
		for _, at := range intervals.FindAllIndex(page, -1) {
			found++
			if rest := page[at[1]-len("every "):]; fixed.Match(rest[:min(len(rest), len("every {{"))]) {
				t.Errorf("%s updates itself in a fixed interval; use Page.Every or Page.Soon", path)
			}
		}
		return err
	})
	if err != nil || found == 0 {
		t.Errorf("%d intervals found, %v", found, err)
	}
}
