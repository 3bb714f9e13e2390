package credentials_test

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/app/settingsstore"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/credentials"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/oauth/authrow"
	"campaign-dispatch/internal/settings"
	"campaign-dispatch/localstack/stackenv"
)

var now = time.Date(2026, 5, 4, 15, 0, 0, 0, time.UTC)

// tenantFixture is a new tenant in the stack's tables with its users and the pages.
type tenantFixture struct {
	*webtest.Dashboard
	store         *dynamo.AuthStore
	tenant        string
	admin, viewer webtest.Person
}

func newTenantFixture(tb testing.TB) tenantFixture {
	tb.Helper()
	env, clock := stackenv.Load(tb), func() time.Time { return now }
	tables := dynamo.Tables{
		Client: dynamodb.NewFromConfig(env.AWS()), Auth: env["AUTH_TABLE"], Campaigns: env["CAMPAIGNS_TABLE"], Outcomes: env["OUTCOMES_TABLE"], Now: clock,
	}
	store, auth := dynamotest.New(tables), dynamo.NewAuthStore(tables)
	pages := &credentials.Pages{
		Store: auth, Admin: &settings.Service{Store: settingsstore.New(dynamo.New(store.Tables())), Auth: auth, Now: clock},
		Now: clock,
	}
	o := tenantFixture{
		Dashboard: webtest.New(tb, credentials.Area(), pages, clock), store: auth, tenant: strings.ToLower(rand.Text()),
	}
	if err := store.SaveTenant(tb.Context(), campaign.Tenant{ID: o.tenant, Name: "Loja"}, nil); err != nil {
		tb.Fatal(err)
	}
	o.admin, o.viewer = o.SignIn(o.tenant, web.RoleAdmin), o.SignIn(o.tenant, web.RoleViewer)
	return o
}

// generate creates a credential with the form. It returns the credential and the response.
func (o tenantFixture) generate(tb testing.TB, name string) (account.Credential, webtest.Answer) {
	tb.Helper()
	form := o.admin.Get(credentials.Path + "/new")
	answer := o.admin.Post(credentials.Path, url.Values{"name": {name}, "once": {form.Value("once")}, "scope": {"campaigns:dispatch"}})
	if answer.Status != http.StatusOK {
		tb.Fatalf("generating answers %d: %s", answer.Status, answer.Text())
	}
	return o.named(tb, name), answer
}

// named returns the tenant's credential with the name.
func (o tenantFixture) named(tb testing.TB, name string) account.Credential {
	tb.Helper()
	all, err := o.store.Credentials(tb.Context(), o.tenant)
	if err != nil {
		tb.Fatal(err)
	}
	for _, c := range all {
		if c.Name == name {
			return c
		}
	}
	tb.Fatalf("there is no credential %q", name)
	return account.Credential{}
}

// secret returns the secret on a page, or "".
func secret(a webtest.Answer) string {
	_, rest, _ := strings.Cut(a.Body, `<code id="client-secret">`)
	s, _, _ := strings.Cut(rest, "<")
	return s
}

func TestGenerate(t *testing.T) {
	t.Parallel()
	o := newTenantFixture(t)
	c, answer := o.generate(t, "CRM produção")
	shown := secret(answer)
	if len(shown) != 43 || !strings.Contains(answer.Body, c.ClientID) || answer.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("the page shows the secret %q, and the client id: %s", shown, answer.Text())
	}
	if c.CreatedBy != "admin@example.com" || !c.CreatedAt.Equal(now) || c.Scope != account.ScopeDispatch {
		t.Errorf("made %+v", c)
	}
	list := o.admin.Get(credentials.Path)
	for _, want := range []string{"CRM produção", c.ClientID, "admin@example.com", "4 May 2026, 12:00", "Never", "Live"} {
		if !strings.Contains(list.Text(), want) {
			t.Errorf("the list lacks %q: %s", want, list.Text())
		}
	}
	if strings.Contains(list.Body, shown) {
		t.Error("the list shows the secret again")
	}
	if diff := cmp.Diff([]string{"admin@example.com credential.create CRM produção"}, o.Audited()); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

func TestGenerate_Scopes(t *testing.T) {
	t.Parallel()
	o := newTenantFixture(t)
	form := o.admin.Get(credentials.Path + "/new")
	for _, want := range []string{`value="campaigns:dispatch" checked>`, `value="templates">`} {
		if !strings.Contains(form.Body, want) {
			t.Errorf("the form lacks %q", want)
		}
	}
	for name, c := range map[string]struct {
		chosen      []string
		scope, says string
	}{
		"both":    {[]string{"templates", "campaigns:dispatch"}, "campaigns:dispatch templates", ""},
		"one":     {[]string{"templates"}, "templates", ""},
		"lists":   {[]string{"lists"}, "lists", ""},
		"none":    {nil, "", "Choose at least one thing"},
		"unknown": {[]string{"everything"}, "", "Choose at least one thing"},
	} {
		once := o.admin.Get(credentials.Path + "/new").Value("once")
		answer := o.admin.Post(credentials.Path, url.Values{"name": {name}, "once": {once}, "scope": c.chosen})
		if c.says != "" {
			if answer.Status != http.StatusUnprocessableEntity || !strings.Contains(answer.Text(), c.says) {
				t.Errorf("%s: answers %d: %s", name, answer.Status, answer.Text())
			}
			continue
		}
		if made := o.named(t, name); made.Scope != c.scope || answer.Status != http.StatusOK {
			t.Errorf("%s: answers %d, made %+v", name, answer.Status, made)
		}
	}
	if list := o.admin.Get(credentials.Path).Text(); !strings.Contains(list, "campaigns:dispatch templates") {
		t.Errorf("the list lacks the scopes: %s", list)
	}
	audited := strings.Join(o.Audited(), "\n")
	for _, want := range []string{"credential.create one credentials.scope.templates", "credential.create lists credentials.scope.lists"} {
		if !strings.Contains(audited, want) {
			t.Errorf("audited %s, without %s", audited, want)
		}
	}
	if form := o.admin.Get(credentials.Path + "/new").Text(); strings.Contains(form, "credentials.scope.") {
		t.Errorf("a scope has no text: %s", form)
	}
}

func TestGenerate_SameFormTwice(t *testing.T) {
	t.Parallel()
	o := newTenantFixture(t)
	form := url.Values{"name": {"crm"}, "once": {o.admin.Get(credentials.Path + "/new").Value("once")}, "scope": {"campaigns:dispatch"}}
	first, again := o.admin.Post(credentials.Path, form), o.admin.Post(credentials.Path, form)
	if !strings.Contains(again.Body, `<a class="button second" href="/dashboard/settings/credentials">Show the credentials</a>`) {
		t.Errorf("a reload does not lead on: %s", again.Text())
	}
	if !strings.Contains(first.Body, "<span data-scripted hidden><button") {
		t.Error("what copies is shown without a script too")
	}
	if secret(first) == "" || again.Status != http.StatusConflict || secret(again) != "" {
		t.Errorf("answers %d and %d", first.Status, again.Status)
	}
	if !strings.Contains(again.Text(), "rotate the secret") {
		t.Errorf("the second answer does not say what to do: %s", again.Text())
	}
	all, err := o.store.Credentials(t.Context(), o.tenant)
	if len(all) != 1 || err != nil {
		t.Errorf("%d credentials, %v; want 1", len(all), err)
	}
}

func TestGenerate_Names(t *testing.T) {
	t.Parallel()
	o := newTenantFixture(t)
	for name, says := range map[string]string{
		"  ": "Give the credential a name", strings.Repeat("a", 201): "too long", "a\x01b": "no text",
	} {
		answer := o.admin.Post(credentials.Path, url.Values{"name": {name}, "once": {"x"}})
		if answer.Status != http.StatusUnprocessableEntity || !strings.Contains(answer.Text(), says) {
			t.Errorf("%q answers %d: %s", name, answer.Status, answer.Text())
		}
		if answer.Value("once") == "" || answer.Value("once") == "x" {
			t.Error("the form that comes back cannot be sent")
		}
	}
	const attack = `<script>alert("x")</script>`
	o.generate(t, attack)
	if body := o.admin.Get(credentials.Path).Body; strings.Contains(body, attack) || !strings.Contains(body, "&lt;script&gt;") {
		t.Error("HTML in a name is not shown as text")
	}
	if len(o.Audited()) != 1 {
		t.Errorf("what was refused is in the audit log: %q", o.Audited())
	}
}

func TestRotate(t *testing.T) {
	t.Parallel()
	o := newTenantFixture(t)
	before, _ := o.generate(t, "crm")
	path := credentials.Path + "/" + before.ClientID + "/rotate"
	form := o.admin.Get(path)
	sent := url.Values{"keep": {"1h"}, "once": {form.Value("once")}}
	answer := o.admin.Post(path, sent)
	if secret(answer) == "" || !strings.Contains(answer.Text(), "valid until 4 May 2026, 13:00") {
		t.Fatalf("rotating answers %d: %s", answer.Status, answer.Text())
	}
	after, err := o.store.Credential(t.Context(), before.ClientID)
	if err != nil || !cmp.Equal(after.PreviousSecretHash, before.SecretHash) || !after.PreviousUntil.Equal(now.Add(time.Hour)) {
		t.Errorf("rotated %+v, %v", after, err)
	}
	if again := o.admin.Post(path, sent); again.Status != http.StatusConflict {
		t.Errorf("a reload answers %d, want 409", again.Status)
	}
	if audited := o.Audited(); audited[1] != "admin@example.com credential.rotate crm ("+before.ClientID+") audit.kept_1h" {
		t.Errorf("audit %q", audited)
	}
	if list := o.admin.Get(credentials.Path).Text(); !strings.Contains(list, "Two secrets") {
		t.Errorf("the list does not tell of two secrets: %s", list)
	}
	if warned := o.admin.Get(path).Text(); !strings.Contains(warned, "the older one stops at once") {
		t.Errorf("the second rotation does not warn: %s", warned)
	}
	if forever := o.admin.Post(path, url.Values{"keep": {"9000h"}, "once": {"x"}}); forever.Status != http.StatusUnprocessableEntity {
		t.Errorf("another time answers %d, want 422", forever.Status)
	}
}

func TestRotate_WithoutOverlap(t *testing.T) {
	t.Parallel()
	o := newTenantFixture(t)
	before, _ := o.generate(t, "crm")
	path := credentials.Path + "/" + before.ClientID + "/rotate"
	form := o.admin.Get(path)
	if !strings.Contains(form.Text(), "all refresh tokens end at once") {
		t.Errorf("the form does not say what ends: %s", form.Text())
	}
	answer := o.admin.Post(path, url.Values{"keep": {"0s"}, "once": {form.Value("once")}})
	if secret(answer) == "" || !strings.Contains(answer.Text(), "are no longer valid") {
		t.Fatalf("rotating answers %d: %s", answer.Status, answer.Text())
	}
	after, err := o.store.Credential(t.Context(), before.ClientID)
	if err != nil || after.PreviousSecretHash != nil || after.RefreshGeneration != 1 {
		t.Errorf("rotated %+v, %v", after, err)
	}
	if list := o.admin.Get(credentials.Path).Text(); strings.Contains(list, "Two secrets") {
		t.Errorf("the list shows two secrets: %s", list)
	}
}

func TestRevoke(t *testing.T) {
	t.Parallel()
	o := newTenantFixture(t)
	c, _ := o.generate(t, "crm")
	window := authrow.Window{{At: now.Add(-time.Hour), ID: 7}}
	if _, ok, err := o.store.SwapWindow(t.Context(), authrow.ClientWindow(c.ClientID), nil, window); !ok || err != nil {
		t.Fatal(ok, err)
	}
	path := credentials.Path + "/" + c.ClientID + "/revoke"
	if asks := o.admin.Get(path).Text(); !strings.Contains(asks, "last requested a token 4 May 2026, 11:00") || !strings.Contains(asks, "401") {
		t.Errorf("the question does not say what stops: %s", asks)
	}
	for range 2 { // a form that is sent twice revokes once
		if answer := o.admin.Post(path, nil); answer.Status != http.StatusSeeOther || answer.Location != credentials.Path {
			t.Fatalf("revoking answers %d to %q", answer.Status, answer.Location)
		} else if list := o.admin.Follow(answer).Text(); !strings.Contains(list, "Credential revoked") {
			t.Errorf("the list does not say what was done: %s", list)
		}
	}
	if got, err := o.store.Credential(t.Context(), c.ClientID); !got.Revoked() || err != nil {
		t.Errorf("the credential is %+v, %v", got, err)
	}
	list := o.admin.Get(credentials.Path).Text()
	for _, want := range []string{"No live credentials", "Revoked (1)"} {
		if !strings.Contains(list, want) {
			t.Errorf("the list lacks %q: %s", want, list)
		}
	}
	revoked := o.admin.Get(credentials.Path + "?revoked=1").Text()
	if !strings.Contains(revoked, c.ClientID) || !strings.Contains(revoked, "last used 4 May 2026, 11:00") {
		t.Errorf("the list of those revoked: %s", revoked)
	}
	if answer := o.admin.Get(credentials.Path + "/" + c.ClientID + "/rotate"); answer.Status != http.StatusConflict {
		t.Errorf("rotating what was revoked answers %d, want 409", answer.Status)
	}
	if len(o.Audited()) != 2 {
		t.Errorf("audit %q", o.Audited())
	}
}

func TestActions_Forbidden(t *testing.T) {
	t.Parallel()
	o := newTenantFixture(t)
	c, _ := o.generate(t, "crm")
	other := o.SignIn("another", web.RoleAdmin)
	one := credentials.Path + "/" + c.ClientID
	for _, path := range []string{one + "/rotate", one + "/revoke"} {
		if a := other.Get(path); a.Status != http.StatusNotFound {
			t.Errorf("another tenant: GET %s answers %d, want 404", path, a.Status)
		}
		if a := other.Post(path, url.Values{"keep": {"1h"}, "once": {"x"}}); a.Status != http.StatusNotFound {
			t.Errorf("another tenant: POST %s answers %d, want 404", path, a.Status)
		}
		if a := o.viewer.Get(path); a.Status != http.StatusForbidden {
			t.Errorf("a viewer: GET %s answers %d, want 403", path, a.Status)
		}
	}
	for _, path := range []string{credentials.Path, one + "/rotate", one + "/revoke"} {
		if a := o.viewer.Post(path, url.Values{"name": {"x"}}); a.Status != http.StatusForbidden {
			t.Errorf("a viewer: POST %s answers %d, want 403", path, a.Status)
		}
		if a := o.admin.Post(path, url.Values{"csrf": {""}}); a.Status != http.StatusForbidden {
			t.Errorf("no CSRF token: POST %s answers %d, want 403", path, a.Status)
		}
	}
	if strings.Contains(other.Get(credentials.Path).Body, c.ClientID) {
		t.Error("another tenant sees the credential")
	}
	if a := o.admin.Get(credentials.Path + "/" + strings.Repeat("x", 3000) + "/revoke"); a.Status != http.StatusNotFound {
		t.Errorf("an id that is none answers %d, want 404", a.Status)
	}
	if a := o.viewer.Get(credentials.Path); a.Status != http.StatusForbidden || strings.Contains(a.Body, c.ClientID) {
		t.Errorf("a viewer: the list answers %d, want 403", a.Status)
	}
	if a := o.viewer.Get("/dashboard/settings"); a.Location != "/dashboard/settings/webhooks" {
		t.Errorf("a viewer's settings lead to %q", a.Location)
	}
	if after, err := o.store.Credential(t.Context(), c.ClientID); after.Revoked() || len(after.PreviousSecretHash) > 0 || err != nil {
		t.Errorf("the credential was changed: %+v, %v", after, err)
	}
}

func BenchmarkList(b *testing.B) {
	o := newTenantFixture(b)
	for range 20 {
		o.generate(b, rand.Text())
	}
	for b.Loop() {
		if a := o.admin.Get(credentials.Path); a.Status != http.StatusOK {
			b.Fatal(a.Status)
		}
	}
}
