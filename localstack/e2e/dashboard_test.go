package e2e_test

import (
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/localstack/stackenv"
)

// visitor is somebody with a browser, in which nothing is known yet.
type visitor struct {
	t      *testing.T
	env    stackenv.Env
	client *http.Client
	seen   []string // the addresses they were led over
}

func newVisitor(t *testing.T) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	v := &visitor{t: t, env: stackenv.Load(t)}
	v.client = &http.Client{Jar: jar, Timeout: time.Minute, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		v.seen = append(v.seen, r.URL.String())
		return nil
	}}
	return v
}

// page is what a visitor sees.
type page struct {
	status int
	url    *url.URL
	body   string
}

func (v *visitor) open(address string) page {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		v.t.Fatal(err)
	}
	return v.do(r)
}

func (v *visitor) post(address string, form url.Values) page {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return v.do(r)
}

func (v *visitor) do(r *http.Request) page {
	v.t.Helper()
	r.Header.Set("Accept-Language", "en")
	answer, err := v.client.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return page{answer.StatusCode, answer.Request.URL, string(body)}
}

var (
	formAction = regexp.MustCompile(`<form[^>]* action="([^"]+)"`)
	formField  = regexp.MustCompile(`<input[^>]* name="([^"]+)"[^>]* value="([^"]*)"`)
)

// signIn fills the sign-in page that a page of the dashboard leads to.
func (v *visitor) signIn(path, email, password string) page {
	v.t.Helper()
	asked := v.open(v.env["BASE_URL"] + path)
	action := formAction.FindStringSubmatch(asked.body)
	if asked.status != http.StatusOK || action == nil || asked.url.Host == strings.TrimPrefix(v.env["BASE_URL"], "http://") {
		v.t.Fatalf("%s led to %s, %d, not to the sign-in page", path, asked.url, asked.status)
	}
	form := url.Values{"username": {email}, "password": {password}}
	for _, field := range formField.FindAllStringSubmatch(asked.body, -1) {
		form.Set(field[1], html.UnescapeString(field[2]))
	}
	to, err := asked.url.Parse(html.UnescapeString(action[1]))
	if err != nil {
		v.t.Fatal(err)
	}
	return v.post(to.String(), form)
}

func TestAPersonSignsInAndOut(t *testing.T) {
	t.Parallel()
	v := newVisitor(t)
	const path = "/dashboard/settings/audit"
	if got := v.signIn(path, v.env["DASHBOARD_EMAIL"], "not the password"); got.url.Path == path {
		t.Fatal("a wrong password opens the dashboard")
	}
	got := v.signIn(path, v.env["DASHBOARD_EMAIL"], v.env["DASHBOARD_PASSWORD"])
	if got.status != http.StatusOK || got.url.Path != path || !strings.Contains(got.body, "<h1>Audit log</h1>") {
		t.Fatalf("signed in, saw %d at %s:\n%s", got.status, got.url, got.body)
	}
	csrf := regexp.MustCompile(`name="csrf" value="([^"]+)"`).FindStringSubmatch(got.body)
	got = v.post(v.env["BASE_URL"]+"/dashboard/sign-out", url.Values{"csrf": {csrf[1]}})
	if got.status != http.StatusOK || got.url.Path != "/dashboard/signed-out" {
		t.Errorf("signed out, saw %d at %s", got.status, got.url)
	}
	if got := v.open(v.env["BASE_URL"] + path); got.url.Path == path {
		t.Error("after signing out the page is open")
	}
}

func TestWhoSignsInSeesTheirOwn(t *testing.T) {
	t.Parallel()
	viewer, other := newVisitor(t), newVisitor(t)
	got := viewer.signIn("/dashboard/settings/audit", viewer.env["DASHBOARD_VIEWER_EMAIL"], viewer.env["DASHBOARD_PASSWORD"])
	if got.status != http.StatusForbidden || !strings.Contains(got.body, "read only") {
		t.Errorf("a viewer saw %d at %s", got.status, got.url)
	}
	got = other.signIn("/dashboard/templates", other.env["DASHBOARD_OTHER_EMAIL"], other.env["DASHBOARD_PASSWORD"])
	if got.status != http.StatusOK || strings.Contains(got.body, other.env["TEMPLATE_ID"]) || !strings.Contains(got.body, other.env["OTHER_TEMPLATE_ID"]) {
		t.Errorf("another tenant's admin saw %d at %s:\n%s", got.status, got.url, got.body)
	}
}

func TestAStolenSignInIsRefused(t *testing.T) {
	t.Parallel()
	thief, victim := newVisitor(t), newVisitor(t)
	thief.client.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if strings.HasSuffix(r.URL.Path, "/sign-in/callback") { // kept for the victim
			thief.seen = append(thief.seen, r.URL.String())
			return http.ErrUseLastResponse
		}
		return nil
	}
	thief.signIn("/dashboard/templates", thief.env["DASHBOARD_OTHER_EMAIL"], thief.env["DASHBOARD_PASSWORD"])
	if len(thief.seen) != 1 {
		t.Fatalf("the thief was led over %q", thief.seen)
	}
	got := victim.open(thief.seen[0])
	if got.status != http.StatusBadRequest || !strings.Contains(got.body, "did not begin in this browser") {
		t.Errorf("the victim saw %d at %s", got.status, got.url)
	}
}
