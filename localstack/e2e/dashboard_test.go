package e2e_test

import (
	"crypto/rand"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/app/settingsstore"
	"campaign-dispatch/internal/aws/cognito"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/settings"
	"campaign-dispatch/localstack/stackenv"
)

// visitor is a browser without cookies.
type visitor struct {
	t      *testing.T
	env    stackenv.Env
	client *http.Client
}

func newVisitor(t *testing.T) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &visitor{t, stackenv.Load(t), &http.Client{Jar: jar, Timeout: time.Minute}}
}

// page is a loaded page.
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
	return v.do(v.posting(address, form))
}

// posting returns the request that submits a form.
func (v *visitor) posting(address string, form url.Values) *http.Request {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

func (v *visitor) do(r *http.Request) page {
	v.t.Helper()
	loaded, err := v.load(r)
	must(v.t, err)
	return loaded
}

// load sends a request. Goroutines of a test may call it at the same time.
func (v *visitor) load(r *http.Request) (page, error) {
	r.Header.Set("Accept-Language", "en")
	answer, err := v.client.Do(r)
	if err != nil {
		return page{}, fmt.Errorf("load a page: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return page{}, fmt.Errorf("read a page: %w", err)
	}
	return page{answer.StatusCode, answer.Request.URL, string(body)}, nil
}

var (
	formAction = regexp.MustCompile(`<form[^>]* action="([^"]+)"`)
	formField  = regexp.MustCompile(`<input[^>]* name="([^"]+)"[^>]* value="([^"]*)"`)
)

// signIn opens a dashboard page and submits the sign-in page that it redirects to.
func (v *visitor) signIn(path, email, password string) page {
	v.t.Helper()
	asked := v.open(v.env["BASE_URL"] + path)
	action := formAction.FindStringSubmatch(asked.body)
	if asked.status != http.StatusOK || action == nil || asked.url.Host == strings.TrimPrefix(v.env["BASE_URL"], "http://") {
		v.t.Fatalf("%s redirects to %s with status %d, want the sign-in page", path, asked.url, asked.status)
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

// person creates a user of the demo tenant. A test that ends sessions must not use the
// seeded users, whose sessions other tests share.
func (v *visitor) person(role string) account.Person {
	v.t.Helper()
	person := account.Person{Email: strings.ToLower(rand.Text()) + "@loja-demo.example", Tenant: v.env["TENANT"], Role: role}
	pool := v.pool()
	if _, err := pool.Invite(v.t.Context(), person, v.env["DASHBOARD_PASSWORD"]); err != nil {
		v.t.Fatal(err)
	}
	if err := pool.SetPassword(v.t.Context(), person.Email, v.env["DASHBOARD_PASSWORD"]); err != nil {
		v.t.Fatal(err)
	}
	return person
}

func (v *visitor) pool() *cognito.Pool {
	return &cognito.Pool{Client: cognitoidentityprovider.NewFromConfig(v.env.AWS()), ID: v.env["USER_POOL_ID"]}
}

// operator returns the service of `make user`.
func (v *visitor) operator() *settings.Service {
	tables := dynamo.FromEnv(dynamodb.NewFromConfig(v.env.AWS()), v.env.Get, time.Now)
	return &settings.Service{
		Store: settingsstore.New(dynamo.New(tables)), Auth: dynamo.NewAuthStore(tables), People: v.pool(), Now: time.Now, LocalPasswords: true,
	}
}

var csrfField = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

func (v *visitor) signOut(csrf string) page {
	v.t.Helper()
	return v.post(v.env["BASE_URL"]+"/dashboard/sign-out", url.Values{"csrf": {csrf}})
}

func TestDashboard_SignInAndOut(t *testing.T) {
	t.Parallel()
	v := newVisitor(t)
	person := v.person("admin")
	const path = "/dashboard/settings/audit"
	if got := v.signIn(path, person.Email, "not the password"); got.url.Path == path {
		t.Fatal("signed in with a wrong password")
	}
	got := v.signIn(path, person.Email, v.env["DASHBOARD_PASSWORD"])
	if got.status != http.StatusOK || got.url.Path != path || !strings.Contains(got.body, "<h1>Audit log</h1>") {
		t.Fatalf("sign-in: status %d at %s:\n%s", got.status, got.url, got.body)
	}
	got = v.signOut(csrfField.FindStringSubmatch(got.body)[1])
	if got.status != http.StatusOK || got.url.Path != "/dashboard/signed-out" {
		t.Errorf("sign-out: status %d at %s", got.status, got.url)
	}
	if got := v.open(v.env["BASE_URL"] + path); got.url.Path == path {
		t.Error("the page is accessible after the sign-out")
	}
	got = v.signIn(path, person.Email, v.env["DASHBOARD_PASSWORD"])
	if got.status != http.StatusOK || got.url.Path != path {
		t.Fatalf("second sign-in: status %d at %s", got.status, got.url)
	}
	entries := regexp.MustCompile(`<td[^>]*>`+regexp.QuoteMeta(person.Email)+`</td><td[^>]*>([^<]+)</td><td[^>]*>([^<]*)</td>`).FindAllStringSubmatch(got.body, -1)
	var logged []string
	for _, e := range entries {
		logged = append(logged, e[1]+" "+e[2])
	}
	if want := []string{"Signed in admin", "Signed out ", "Signed in admin"}; !slices.Equal(logged, want) {
		t.Errorf("the audit log has %q, want %q", logged, want)
	}
}

// withCookiesOf returns a browser with the cookies of another one.
func withCookiesOf(v *visitor) *visitor {
	v.t.Helper()
	attacker, at := newVisitor(v.t), v.home()
	attacker.client.Jar.SetCookies(at, v.client.Jar.Cookies(at))
	attacker.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return attacker
}

func (v *visitor) home() *url.URL {
	v.t.Helper()
	at, err := url.Parse(v.env["BASE_URL"] + "/dashboard")
	if err != nil {
		v.t.Fatal(err)
	}
	return at
}

// statuses returns the statuses of requests for a page, for its update and for a change.
func (v *visitor) statuses(csrf string) (page, update, change int) {
	v.t.Helper()
	const path = "/dashboard/campaigns"
	page = v.open(v.env["BASE_URL"] + path).status
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, v.env["BASE_URL"]+path, http.NoBody)
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header.Set("HX-Request", "true")
	update = v.do(r).status
	change = v.post(v.env["BASE_URL"]+"/dashboard/templates/preview", url.Values{"csrf": {csrf}, "kind": {"text"}, "text": {"Oi"}, "name": {"x"}}).status
	return page, update, change
}

func TestDashboard_EndedSessions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		end   func(v *visitor, person account.Person, csrf string) error
		again bool // the user may sign in again
		role  string
	}{
		"signed out": {func(v *visitor, _ account.Person, csrf string) error {
			if got := v.signOut(csrf); got.status != http.StatusOK {
				return fmt.Errorf("sign-out: status %d", got.status)
			}
			return nil
		}, true, "admin"},
		"removed": {func(v *visitor, person account.Person, _ string) error {
			_, err := v.operator().RemovePerson(v.t.Context(), person)
			return err
		}, false, ""},
		"changed to viewer": {func(v *visitor, person account.Person, _ string) error {
			person.Role = "viewer"
			person.Email = strings.ToUpper(person.Email)
			_, err := v.operator().InvitePerson(v.t.Context(), person)
			return err
		}, true, "viewer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVisitor(t)
			person := v.person("admin")
			got := v.signIn("/dashboard/campaigns", person.Email, v.env["DASHBOARD_PASSWORD"])
			csrf := csrfField.FindStringSubmatch(got.body)
			if csrf == nil {
				t.Fatalf("sign-in: status %d at %s", got.status, got.url)
			}
			attacker := withCookiesOf(v)
			if page, update, change := attacker.statuses(csrf[1]); page != http.StatusOK || update != http.StatusOK || change != http.StatusOK {
				t.Fatalf("copied cookie before the end: page %d, update %d, change %d, want 200", page, update, change)
			}
			if err := test.end(v, person, csrf[1]); err != nil {
				t.Fatal(err)
			}
			if page, update, change := attacker.statuses(csrf[1]); page != http.StatusSeeOther || update != http.StatusNoContent || change != http.StatusUnauthorized {
				t.Errorf("copied cookie after the end: page %d, update %d, change %d, want 303, 204, 401", page, update, change)
			}
			renewed := attacker.open(v.env["BASE_URL"] + "/dashboard/sign-in")
			if page, _, _ := attacker.statuses(csrf[1]); renewed.status != http.StatusSeeOther || page != http.StatusSeeOther {
				t.Errorf("renewal with the copied cookie: status %d, then page %d, want 303", renewed.status, page)
			}
			anew := newVisitor(t)
			got = anew.signIn("/dashboard/campaigns", person.Email, v.env["DASHBOARD_PASSWORD"])
			in := got.status == http.StatusOK && got.url.Path == "/dashboard/campaigns"
			if in != test.again || in && strings.Contains(got.body, "read only") != (test.role == "viewer") {
				t.Errorf("second sign-in: status %d at %s", got.status, got.url)
			}
		})
	}
}

func TestDashboard_RoleAndTenant(t *testing.T) {
	t.Parallel()
	viewer, other := newVisitor(t), newVisitor(t)
	got := viewer.signIn("/dashboard/settings/audit", viewer.env["DASHBOARD_VIEWER_EMAIL"], viewer.env["DASHBOARD_PASSWORD"])
	if got.status != http.StatusForbidden || !strings.Contains(got.body, "read only") {
		t.Errorf("viewer: status %d at %s, want 403", got.status, got.url)
	}
	got = other.signIn("/dashboard/templates", other.env["DASHBOARD_OTHER_EMAIL"], other.env["DASHBOARD_PASSWORD"])
	if got.status != http.StatusOK || strings.Contains(got.body, other.env["TEMPLATE_ID"]) || !strings.Contains(got.body, other.env["OTHER_TEMPLATE_ID"]) {
		t.Errorf("other tenant's admin: status %d at %s, want only their template:\n%s", got.status, got.url, got.body)
	}
}

// An admin invites a person, who then stands in the team, and removes them.
func TestTeam_Person(t *testing.T) {
	t.Parallel()
	v := newVisitor(t)
	v.env = newClient(t).ownTenant().env
	team, email := v.env["BASE_URL"]+"/dashboard/settings/team", strings.ToLower(rand.Text()[:12])+"@loja.example"
	opened := v.signIn("/dashboard/settings/team", v.person("admin").Email, v.env["DASHBOARD_PASSWORD"])
	csrf := csrfField.FindStringSubmatch(opened.body)
	if csrf == nil {
		t.Fatalf("the team's page answers %d at %s, without a form:\n%s", opened.status, opened.url, opened.body)
	}
	form := url.Values{"csrf": {csrf[1]}, "email": {email}, "role": {"viewer"}}
	for _, change := range []struct {
		path   string
		listed bool
	}{{"", true}, {"/remove", false}} {
		if got := v.post(team+change.path, form); got.status != http.StatusOK {
			t.Fatalf("post %s: status %d at %s", change.path, got.status, got.url)
		}
		if got := v.open(team); strings.Contains(got.body, email) != change.listed {
			t.Errorf("after %q: the team contains the person %v, want %v", change.path, !change.listed, change.listed)
		}
	}
}

func TestDashboard_StolenSignIn(t *testing.T) {
	t.Parallel()
	attacker, victim := newVisitor(t), newVisitor(t)
	var callbacks []string
	attacker.client.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if strings.HasSuffix(r.URL.Path, "/sign-in/callback") { // the victim opens it
			callbacks = append(callbacks, r.URL.String())
			return http.ErrUseLastResponse
		}
		return nil
	}
	attacker.signIn("/dashboard/templates", attacker.env["DASHBOARD_OTHER_EMAIL"], attacker.env["DASHBOARD_PASSWORD"])
	if len(callbacks) != 1 {
		t.Fatalf("callbacks %q, want one", callbacks)
	}
	got := victim.open(callbacks[0])
	if got.status != http.StatusBadRequest || !strings.Contains(got.body, "did not begin in this browser") {
		t.Errorf("victim: status %d at %s, want 400", got.status, got.url)
	}
}
