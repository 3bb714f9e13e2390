package webhooks_test

import (
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"campaign-dispatch/internal/app/settingsstore"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/base/netguard"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/dashboard/webhooks"
	"campaign-dispatch/internal/query"
	"campaign-dispatch/internal/settings"
	"campaign-dispatch/internal/webhook"
	"campaign-dispatch/internal/webhook/delivery"
	"campaign-dispatch/localstack/stackenv"
)

// now is far from the present, so that the stack's own sweep finds no row of a test due.
var now = time.Date(2100, 5, 4, 15, 30, 0, 0, time.UTC)

// tenantFixture is a new tenant in the stack's tables with its users and the pages.
type tenantFixture struct {
	*webtest.Dashboard
	store         *dynamotest.Store
	blobs         *s3.Store
	tenant        string
	admin, viewer webtest.Person
}

// newTenantFixture allows endpoints on this machine only if local is true.
func newTenantFixture(tb testing.TB, local bool) tenantFixture {
	tb.Helper()
	return fixtureWith(tb, local, stackenv.Load(tb)["OUTCOMES_TABLE"])
}

// fixtureWith is newTenantFixture with a table of outcomes. The stack's functions post what is recorded in theirs.
func fixtureWith(tb testing.TB, local bool, outcomes string) tenantFixture {
	tb.Helper()
	env, clock := stackenv.Load(tb), func() time.Time { return now }
	store := dynamotest.New(dynamo.Tables{
		Client: dynamodb.NewFromConfig(env.AWS()), Auth: env["AUTH_TABLE"], Campaigns: env["CAMPAIGNS_TABLE"], Outcomes: outcomes, Webhooks: env["WEBHOOKS_TABLE"], Now: clock,
	})
	blobs := &s3.Store{Client: awss3.NewFromConfig(env.AWS(), func(o *awss3.Options) { o.UsePathStyle = true }), Bucket: env["BUCKET"]}
	pages := &webhooks.Pages{
		Store: store, Messages: &query.Service{Store: dynamo.New(store.Tables()), Blobs: blobs, Now: clock}, Admin: &settings.Service{Store: settingsstore.New(dynamo.New(store.Tables())), Now: clock, LocalWebhooks: local},
		Poster: webhook.Poster{HTTP: netguard.Guard{Local: local}.Client(1, time.Minute), Now: time.Now},
		Now:    clock,
	}
	o := tenantFixture{
		Dashboard: webtest.New(tb, webhooks.Area(), pages, clock), store: store, blobs: blobs, tenant: strings.ToLower(rand.Text()),
	}
	if err := store.SaveTenant(tb.Context(), campaign.Tenant{ID: o.tenant, Name: "Loja"}, nil); err != nil {
		tb.Fatal(err)
	}
	o.admin, o.viewer = o.SignIn(o.tenant, web.RoleAdmin), o.SignIn(o.tenant, web.RoleViewer)
	return o
}

// add creates an endpoint with the form. It returns the endpoint and the response.
func (o tenantFixture) add(tb testing.TB, address string, kinds ...string) (delivery.Endpoint, webtest.Answer) {
	tb.Helper()
	form := o.admin.Get(webhooks.Path + "/new")
	answer := o.admin.Post(webhooks.Path, url.Values{"url": {address}, "kind": kinds, "once": {form.Value("once")}})
	if answer.Status != http.StatusOK {
		tb.Fatalf("adding answers %d: %s", answer.Status, answer.Text())
	}
	all, err := o.store.Endpoints(tb.Context(), o.tenant)
	if err != nil {
		tb.Fatal(err)
	}
	i := slices.IndexFunc(all, func(e delivery.Endpoint) bool { return e.URL == address })
	if i < 0 {
		tb.Fatal("there is no such endpoint")
	}
	return all[i], answer
}

func (o tenantFixture) endpoint(t *testing.T, id string) delivery.Endpoint {
	t.Helper()
	e, err := o.store.Endpoint(t.Context(), o.tenant, id)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// lacks fails the test where a page lacks one of the texts.
func lacks(t *testing.T, a webtest.Answer, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(a.Text(), want) {
			t.Errorf("the page (%d) lacks %q: %s", a.Status, want, a.Text())
		}
	}
}

func TestAdd(t *testing.T) {
	t.Parallel()
	o := newTenantFixture(t, false)
	e, answer := o.add(t, "https://crm.example.com/hook?key=private-key", "message.read", "message.failed")
	if !strings.Contains(answer.Text(), e.Secret) || strings.Contains(answer.Body, "private-key") {
		t.Errorf("the page does not show the secret alone: %s", answer.Text())
	}
	if diff := cmp.Diff([]string{"message.failed", "message.read"}, e.Kinds); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	lacks(t, o.viewer.Get(webhooks.Path), "crm.example.com", "https://crm.example.com/hook?…", "Kinds of event: 2", "Active")
	page := o.viewer.Get(webhooks.Path + "/" + e.ID)
	lacks(t, page, "Message failed, Message read", "Nothing was sent", "Nothing is kept yet")
	if strings.Contains(page.Text(), e.Secret) || strings.Contains(page.Body, "private-key") {
		t.Error("the page shows a secret again")
	}
	if diff := cmp.Diff([]string{"admin@example.com endpoint.create crm.example.com webhooks.kind.message.read webhooks.kind.message.failed"}, o.Audited()); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

func TestAdd_SameFormTwice(t *testing.T) {
	t.Parallel()
	o := newTenantFixture(t, false)
	form := url.Values{
		"url": {"https://crm.example.com/"}, "kind": {"message.read"}, "once": {o.admin.Get(webhooks.Path + "/new").Value("once")},
	}
	o.admin.Post(webhooks.Path, form)
	again := o.admin.Post(webhooks.Path, form)
	if again.Status != http.StatusConflict || strings.Contains(again.Body, "whsec_") {
		t.Errorf("a reload answers %d, want 409", again.Status)
	}
	if all, err := o.store.Endpoints(t.Context(), o.tenant); len(all) != 1 || err != nil {
		t.Errorf("%d endpoints, %v; want 1", len(all), err)
	}
}

func TestAdd_RacingForms(t *testing.T) {
	t.Parallel()
	o := newTenantFixture(t, false)
	forms := make([]url.Values, 60)
	for i := range forms {
		once := o.admin.Get(webhooks.Path + "/new").Value("once")
		forms[i] = url.Values{"url": {"https://crm.example.com/"}, "kind": {"message.read"}, "once": {once}}
	}
	answers := make([]webtest.Answer, len(forms))
	var all sync.WaitGroup
	for i, form := range forms {
		all.Go(func() { answers[i] = o.admin.Post(webhooks.Path, form) })
	}
	all.Wait()
	made := 0
	for _, answer := range answers {
		if answer.Status == http.StatusOK {
			made++
			continue
		}
		if answer.Status != http.StatusUnprocessableEntity {
			t.Errorf("a refused form answers %d, want 422", answer.Status)
		}
		lacks(t, answer, "Your company has 20 endpoints already, the most there may be; those switched off count too.")
	}
	kept, err := o.store.Endpoints(t.Context(), o.tenant)
	if err != nil || made != settings.MaxEndpoints || len(kept) != made {
		t.Errorf("%d forms made an endpoint, there are %d, %v; want %d", made, len(kept), err, settings.MaxEndpoints)
	}
}

func TestAdd_WrongInput(t *testing.T) {
	t.Parallel()
	o := newTenantFixture(t, false)
	for _, test := range []struct {
		url, kind, says string
	}{
		{"http://example.com", "message.read", "begin with https://"},
		{"crm", "message.read", "Write it like"},
		{"https://127.0.0.1/", "message.read", "not on the public internet"},
		{"https://2130706433/", "message.read", "not on the public internet"},
		{"https://u:p@example.com/", "message.read", "Leave user name and password out"},
		{"https://example.com/#x", "message.read", "never sent"},
		{"https://example.com:0/", "message.read", "port of the address does not exist"},
		{"https://example.com:99999/", "message.read", "port of the address does not exist"},
		{"https://example.com:00065536", "message.read", "port of the address does not exist"},
		{"https://[2606:2800:220:1::1]:0/", "message.read", "port of the address does not exist"},
		{"https://example.com/" + strings.Repeat("a", 2000), "message.read", "too long"},
		{"https://example.com/", "message.none", "choose from the list"},
		{"https://example.com/", "", "at least one event"},
	} {
		form := url.Values{"url": {test.url}, "once": {"x"}}
		if test.kind != "" {
			form.Set("kind", test.kind)
		}
		answer := o.admin.Post(webhooks.Path, form)
		if answer.Status != http.StatusUnprocessableEntity || answer.Value("once") == "" {
			t.Errorf("%q %q answers %d", test.url, test.kind, answer.Status)
		}
		lacks(t, answer, test.says)
	}
	if len(o.Audited()) > 0 {
		t.Errorf("what was refused is in the audit log: %q", o.Audited())
	}
	const attack = `https://example.com/"><script>alert(1)</script>`
	e, answer := o.add(t, attack, "message.read")
	for _, a := range []webtest.Answer{answer, o.viewer.Get(webhooks.Path), o.viewer.Get(webhooks.Path + "/" + e.ID)} {
		if strings.Contains(a.Body, "<script>alert") {
			t.Error("HTML in an address is not shown as text")
		}
	}
}

func TestChange(t *testing.T) {
	t.Parallel()
	o := newTenantFixture(t, false)
	e, _ := o.add(t, "https://crm.example.com/", "message.read")
	path := webhooks.Path + "/" + e.ID
	o.admin.Post(path+"/kinds", url.Values{"kind": {"campaign.completed", "message.sent"}})
	if got := o.endpoint(t, e.ID); !slices.Equal(got.Kinds, []string{"campaign.completed", "message.sent"}) {
		t.Errorf("kinds %q", got.Kinds)
	}
	lacks(t, o.admin.Post(path+"/kinds", nil), "at least one event")

	once := o.admin.Get(path + "/rotate").Value("once")
	rotated := o.admin.Post(path+"/rotate", url.Values{"keep": {"7d"}, "once": {once}})
	after := o.endpoint(t, e.ID)
	if after.PreviousSecret != e.Secret || !after.PreviousUntil.Equal(now.Add(7*24*time.Hour)) || !strings.Contains(rotated.Text(), after.Secret) {
		t.Errorf("rotated to %v, answer %s", after.PreviousUntil, rotated.Text())
	}
	if again := o.admin.Post(path+"/rotate", url.Values{"keep": {"7d"}, "once": {once}}); again.Status != http.StatusConflict {
		t.Errorf("a reload answers %d, want 409", again.Status)
	}
	lacks(t, o.viewer.Get(path), "Two secrets sign until 11 May 2100, 12:30")

	lacks(t, o.admin.Get(path+"/off"), "are sent when it is enabled")
	o.admin.Post(path+"/off", nil)
	lacks(t, o.viewer.Get(path), "Disabled 4 May 2100, 12:30 by an admin")
	on := o.admin.Post(path+"/on", nil)
	if on.Location != path || o.endpoint(t, e.ID).Off() {
		t.Errorf("switching on answers %d to %q", on.Status, on.Location)
	}
	lacks(t, o.admin.Follow(on), "Enabled: the events that waited arrive")
	o.admin.Post(path+"/kinds", url.Values{"kind": {
		"campaign.completed", "message.sent", "message.delivered", "message.read", "message.failed", "message.expired", "message.replied", "message.opted_out",
	}})
	name := "admin@example.com %s crm.example.com (" + e.ID + ")"
	want := []string{
		"admin@example.com endpoint.create crm.example.com webhooks.kind.message.read",
		fmt.Sprintf(name, "endpoint.kinds") + " webhooks.kind.message.sent webhooks.kind.campaign.completed",
		fmt.Sprintf(name, "endpoint.rotate") + " audit.kept_7d",
		fmt.Sprintf(name, "endpoint.off"), fmt.Sprintf(name, "endpoint.on"),
		fmt.Sprintf(name, "endpoint.kinds") + " webhooks.kinds_all webhooks.kind.campaign.completed",
	}
	if diff := cmp.Diff(want, o.Audited()); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

// A form that was opened before another change overwrites nothing unless it is sent again.
func TestChangeKinds_TwoTabs(t *testing.T) {
	t.Parallel()
	o := newTenantFixture(t, false)
	e, _ := o.add(t, "https://crm.example.com/", "message.read")
	path := webhooks.Path + "/" + e.ID + "/kinds"
	was := o.admin.Get(path).Value("was")
	o.admin.Post(path, url.Values{"kind": {"message.sent"}})
	refused := o.admin.Post(path, url.Values{"kind": {"message.failed"}, "was": {was}})
	lacks(t, refused, "Somebody changed the events")
	if got := o.endpoint(t, e.ID).Kinds; refused.Status != http.StatusConflict || !slices.Equal(got, []string{"message.sent"}) {
		t.Errorf("the other tab's form: %d, kinds %q", refused.Status, got)
	}
	o.admin.Post(path, url.Values{"kind": {"message.failed"}, "was": {refused.Value("was")}})
	if got := o.endpoint(t, e.ID).Kinds; !slices.Equal(got, []string{"message.failed"}) {
		t.Errorf("sent again: kinds %q", got)
	}
}

func TestTestWebhook_SignedAndAnswered(t *testing.T) {
	t.Parallel()
	o := newTenantFixture(t, true)
	status, verified := http.StatusNoContent, make(chan error, 10)
	var e delivery.Endpoint
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		hook, err := standardwebhooks.NewWebhook(e.Secret)
		if err == nil {
			err = hook.Verify(body, r.Header)
		}
		if err == nil && !strings.Contains(string(body), `"type":"endpoint.test"`) {
			err = io.ErrUnexpectedEOF
		}
		verified <- err
		w.WriteHeader(status)
	}))
	t.Cleanup(receiver.Close)
	receiver.Config.SetKeepAlivesEnabled(false) // else the last post can meet a connection that is being closed
	e, _ = o.add(t, receiver.URL, "message.read")
	path := webhooks.Path + "/" + e.ID + "/test"
	lacks(t, o.admin.Post(path, nil), "Delivered. Answered 204 No Content")
	if err := <-verified; err != nil {
		t.Errorf("the test is not as it should be: %v", err)
	}
	status = http.StatusTeapot
	lacks(t, o.admin.Post(path, nil), "Not delivered. The server refused the content (418 I'm a teapot)", "Nothing is kept yet")
	part := httptest.NewRequestWithContext(t.Context(), http.MethodPost, webtest.Base+path, http.NoBody)
	part.Header.Set("HX-Request", "true")
	part.Header.Set("X-CSRF-Token", o.admin.Session.CSRF)
	if a := o.admin.Do(part); strings.Contains(a.Body, "<html") || !strings.Contains(a.Text(), "418") {
		t.Errorf("htmx gets %s", a.Body)
	}
	receiver.Close()
	lacks(t, o.admin.Post(path, nil), "Not delivered. The server accepts no connections")
}

func TestTestWebhook_PrivateAddress(t *testing.T) {
	t.Parallel()
	o := newTenantFixture(t, false)
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was posted") }))
	t.Cleanup(receiver.Close)
	e := delivery.Endpoint{ID: rand.Text(), Tenant: o.tenant, URL: receiver.URL, Secret: "whsec_c2VjcmV0"}
	if err := o.store.SaveEndpoint(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	lacks(t, o.admin.Post(webhooks.Path+"/"+e.ID+"/test", nil), "not on the public internet")
}

// fail records a webhook that failed an hour ago and returns it.
func (o tenantFixture) fail(t *testing.T, e delivery.Endpoint, status int) delivery.Failure {
	t.Helper()
	f := delivery.Failure{
		Tenant: o.tenant, EndpointID: e.ID, WebhookID: "msg_" + rand.Text(), Kind: delivery.KindRead, Status: status,
		Code: "timeout", Attempt: 2, At: now.Add(-time.Hour), Took: 15 * time.Second, Entry: []byte("entry"),
		Task: delivery.NotifyTask{Tenant: o.tenant, EndpointID: e.ID, DeliveryID: randomKey()},
	}
	if err := o.store.RecordFailure(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	return f
}

func randomKey() string {
	var key campaign.BatchKey
	_, _ = rand.Read(key[:])
	return key.String()
}

// resendFailed sends the form that resends all failed webhooks of an endpoint's page.
func (o tenantFixture) resendFailed(path string) webtest.Answer {
	return o.admin.Post(path+"/resend-failed", url.Values{"once": {o.admin.Get(path).Value("once")}, "since": {"2100-05-03T12:30"}})
}

func TestResend_One(t *testing.T) {
	t.Parallel()
	o := newTenantFixture(t, false)
	e, _ := o.add(t, "https://crm.example.com/", "message.read")
	f := o.fail(t, e, 0)
	path := webhooks.Path + "/" + e.ID
	page := o.admin.Get(path)
	lacks(t, page, "No answer within 15 seconds", "Message read", "4 May 2100, 11:30:00 3 15,000 ms", f.WebhookID)
	form := url.Values{"once": {page.Value("once")}, "webhook": {page.Value("webhook")}, "at": {page.Value("at")}}
	if a := o.admin.Post(path+"/resend", form); a.Location != path {
		t.Fatalf("resending answers %d to %q: %s", a.Status, a.Location, a.Text())
	}
	alone := delivery.Delivery{Tenant: o.tenant, EndpointID: e.ID, Entries: f.Entry}.Identified()
	n, err := o.store.Delivery(t.Context(), alone.Task())
	if err != nil || !slices.Equal(n.Entries, f.Entry) || n.Next.After(now) || n.Dead {
		t.Errorf("the notice is %+v, %v", n, err)
	}
	for _, wrong := range []url.Values{
		{"webhook": {"msg_x"}, "at": {page.Value("at")}}, {"webhook": {f.WebhookID}, "at": {"yesterday"}}, nil,
	} {
		if a := o.admin.Post(path+"/resend", wrong); a.Status != http.StatusNotFound {
			t.Errorf("%v answers %d, want 404", wrong, a.Status)
		}
	}
}

func TestResend_All(t *testing.T) {
	t.Parallel()
	o := newTenantFixture(t, false)
	e, _ := o.add(t, "https://crm.example.com/", "message.read")
	path := webhooks.Path + "/" + e.ID
	put := func(n delivery.Delivery) delivery.Delivery {
		t.Helper()
		n.Tenant, n.EndpointID, n.Entries = o.tenant, e.ID, []byte(randomKey())
		n = n.Identified()
		if err := o.store.AddDeliveries(t.Context(), []delivery.Delivery{n}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	dead := put(delivery.Delivery{Dead: true, Attempt: 9, Next: now.Add(-time.Hour), Pending: []int{1}})
	old := put(delivery.Delivery{Dead: true, Attempt: 9, Next: now.Add(-48 * time.Hour), Pending: []int{1}})
	waiting := put(delivery.Delivery{Attempt: 4, Next: now.Add(5 * time.Hour), Pending: []int{1}})
	f := delivery.Failure{Tenant: o.tenant, EndpointID: e.ID, WebhookID: "msg_a", At: now.Add(-time.Hour), Task: waiting.Task()}
	if err := o.store.RecordFailure(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	answer := o.resendFailed(path)
	if answer.Location != path {
		t.Fatalf("it answers %d to %q", answer.Status, answer.Location)
	}
	lacks(t, o.admin.Follow(answer), "2 deliveries resent. They")
	for name, want := range map[string]delivery.Delivery{
		"dead": {Attempt: 0, Next: now}, "old": {Attempt: 9, Next: old.Next, Dead: true}, "waiting": {Attempt: 4, Next: now},
	} {
		n := map[string]delivery.Delivery{"dead": dead, "old": old, "waiting": waiting}[name]
		got, err := o.store.Delivery(t.Context(), n.Task())
		if err != nil || got.Attempt != want.Attempt || !got.Next.Equal(want.Next) || got.Dead != want.Dead {
			t.Errorf("the %s notice is %+v, %v", name, got, err)
		}
	}
	again := o.resendFailed(path)
	lacks(t, o.admin.Follow(again), "Nothing that failed since then")
	lacks(t, o.admin.Post(path+"/resend-failed", url.Values{"since": {"soon"}}), "Give a date and time")
	o.admin.Post(path+"/off", nil)
	lacks(t, o.resendFailed(path), "enable it before")
}

func TestPage_DeliveriesPerHour(t *testing.T) {
	t.Parallel()
	o := newTenantFixture(t, false)
	e, _ := o.add(t, "https://crm.example.com/", "message.read")
	for hoursAgo, posts := range map[int][2]int{0: {1000, 0}, 1: {7, 3}, 23: {500, 0}, 24: {9999, 9999}} {
		at := now.Add(-time.Duration(hoursAgo) * time.Hour)
		if err := o.store.AddPosts(t.Context(), o.tenant, at, map[string]delivery.PostCount{e.ID: {Accepted: posts[0], Failed: posts[1]}}); err != nil {
			t.Fatal(err)
		}
	}
	page := o.viewer.Get(webhooks.Path + "/" + e.ID)
	lacks(t, page, "1,507 delivered", "3 failed", "4 May 2100, 12:00 1,000 0", "4 May 2100, 11:00 7 3")
	if !strings.Contains(page.Body, "at most 1,000 in one hour") || strings.Count(page.Body, "<rect") != 4 {
		t.Errorf("the chart has %d bars", strings.Count(page.Body, "<rect"))
	}
	lacks(t, o.viewer.Get(webhooks.Path), "1,507 delivered 3 failed")
}

func TestPage_States(t *testing.T) {
	t.Parallel()
	o := newTenantFixture(t, false)
	e, _ := o.add(t, "https://crm.example.com/", "message.read")
	c := delivery.Circuit{Tenant: o.tenant, EndpointID: e.ID, Since: now.Add(-time.Hour), Next: now.Add(time.Minute)}
	if ok, err := o.store.SaveCircuit(t.Context(), c); !ok || err != nil {
		t.Fatal(ok, err)
	}
	lacks(t, o.viewer.Get(webhooks.Path), "Failing")
	lacks(t, o.viewer.Get(webhooks.Path+"/"+e.ID), "accepted nothing since 4 May 2100, 11:30", "next test: 4 May 2100, 12:31")
	for _, off := range []struct{ why, says string }{{"gone", "answered 410"}, {"failing", "5 days in a row"}} {
		if _, err := o.store.SwitchEndpoint(t.Context(), o.tenant, e.ID, off.why); err != nil {
			t.Fatal(err)
		}
		lacks(t, o.viewer.Get(webhooks.Path+"/"+e.ID), off.says)
	}
	portuguese := o.viewer
	portuguese.Language = "pt-BR"
	lacks(t, portuguese.Get(webhooks.Path+"/"+e.ID), "Desativado em 04/05/2100 12:30", "falhou por 5 dias seguidos")
}

// A failure without a duration shows none.
func TestPage_CauseOfFailure(t *testing.T) {
	t.Parallel()
	o := newTenantFixture(t, false)
	e, _ := o.add(t, "https://crm.example.com/", "message.read")
	f := delivery.Failure{Tenant: o.tenant, EndpointID: e.ID, WebhookID: "msg_a", Kind: delivery.KindRead, Code: "certificate_expired", At: now}
	if err := o.store.RecordFailure(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	page := o.viewer.Get(webhooks.Path + "/" + e.ID)
	lacks(t, page, "The certificate of the server has expired")
	if strings.Contains(page.Body, " ms</td>") {
		t.Error("the page shows a duration that is unknown")
	}
	portuguese := o.viewer
	portuguese.Language = "pt-BR"
	lacks(t, portuguese.Get(webhooks.Path+"/"+e.ID), "O certificado do servidor venceu")
}

func TestActions_Forbidden(t *testing.T) {
	t.Parallel()
	o := newTenantFixture(t, false)
	e, _ := o.add(t, "https://crm.example.com/", "message.read")
	other := o.SignIn("another", web.RoleAdmin)
	one := webhooks.Path + "/" + e.ID
	for _, path := range []string{one, one + "/kinds", one + "/rotate", one + "/off"} {
		if a := other.Get(path); a.Status != http.StatusNotFound {
			t.Errorf("another tenant: GET %s answers %d, want 404", path, a.Status)
		}
	}
	for _, path := range []string{one + "/kinds", one + "/rotate", one + "/off"} {
		if a := o.viewer.Get(path); a.Status != http.StatusForbidden {
			t.Errorf("a viewer: GET %s answers %d, want 403", path, a.Status)
		}
	}
	for _, action := range []string{"/kinds", "/rotate", "/off", "/on", "/test", "/resend", "/resend-failed", "/messages/x/resend"} {
		form := url.Values{"kind": {"message.sent"}, "keep": {"1h"}, "once": {"x"}, "since": {"2100-05-03T12:30"}}
		if a := other.Post(one+action, form); a.Status != http.StatusNotFound {
			t.Errorf("another tenant: POST %s answers %d, want 404", action, a.Status)
		}
		if a := o.viewer.Post(one+action, form); a.Status != http.StatusForbidden {
			t.Errorf("a viewer: POST %s answers %d, want 403", action, a.Status)
		}
		if a := o.admin.Post(one+action, url.Values{"csrf": {"stolen"}}); a.Status != http.StatusForbidden {
			t.Errorf("no CSRF token: POST %s answers %d, want 403", action, a.Status)
		}
	}
	if a := o.viewer.Post(webhooks.Path, url.Values{"url": {"https://example.com"}}); a.Status != http.StatusForbidden {
		t.Errorf("a viewer adds one: %d, want 403", a.Status)
	}
	if diff := cmp.Diff(e, o.endpoint(t, e.ID)); diff != "" {
		t.Errorf("the endpoint was changed (-before +after):\n%s", diff)
	}
}

func BenchmarkEndpoint(b *testing.B) {
	o := newTenantFixture(b, false)
	e, _ := o.add(b, "https://crm.example.com/", "message.read")
	for i := range 60 {
		f := delivery.Failure{
			Tenant: o.tenant, EndpointID: e.ID, WebhookID: "msg_" + rand.Text(), Kind: delivery.KindRead, Status: 500,
			At: now.Add(-time.Duration(i) * time.Minute),
		}
		if err := o.store.RecordFailure(b.Context(), f); err != nil {
			b.Fatal(err)
		}
		if err := o.store.AddPosts(b.Context(), o.tenant, now.Add(-time.Duration(i)*time.Hour), map[string]delivery.PostCount{e.ID: {Accepted: 9, Failed: 1}}); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if a := o.admin.Get(webhooks.Path + "/" + e.ID); a.Status != http.StatusOK {
			b.Fatal(a.Status)
		}
	}
}

func TestResend_EndpointKeepsFailing(t *testing.T) {
	t.Parallel()
	o := newTenantFixture(t, false)
	e, _ := o.add(t, "https://crm.example.com/", "message.read")
	path := webhooks.Path + "/" + e.ID
	parked := delivery.Delivery{
		Tenant: o.tenant, EndpointID: e.ID, Entries: []byte("entries"), Parked: true, Next: now.Add(-time.Hour), Pending: []int{1},
	}.Identified()
	if err := o.store.AddDeliveries(t.Context(), []delivery.Delivery{parked}); err != nil {
		t.Fatal(err)
	}
	f := delivery.Failure{Tenant: o.tenant, EndpointID: e.ID, WebhookID: "msg_a", At: now.Add(-time.Hour), Task: parked.Task()}
	if err := o.store.RecordFailure(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	c := delivery.Circuit{Tenant: o.tenant, EndpointID: e.ID, Since: now.Add(-time.Hour), Next: now.Add(3 * time.Hour)}
	if ok, err := o.store.SaveCircuit(t.Context(), c); !ok || err != nil {
		t.Fatal(ok, err)
	}
	all := o.resendFailed(path)
	if all.Location != path {
		t.Fatalf("it answers %d to %q", all.Status, all.Location)
	}
	lacks(t, o.admin.Follow(all), "1 delivery waits. We will try again at 4 May 2100,")
	one := o.admin.Post(path+"/resend", url.Values{"once": {o.admin.Get(path).Value("once")}, "webhook": {"msg_a"}, "at": {f.At.Format(time.RFC3339Nano)}})
	if one.Location != path {
		t.Fatalf("one answers %d to %q", one.Status, one.Location)
	}
	lacks(t, o.admin.Follow(one), "1 delivery waits for the endpoint to answer")
}

func TestAdd_AllEventTypes(t *testing.T) {
	t.Parallel()
	o := newTenantFixture(t, false)
	all := []string{
		"message.sent", "message.delivered", "message.read", "message.failed", "message.expired", "message.replied", "message.opted_out",
	}
	e, _ := o.add(t, "https://crm.example.com/a/hooks?key=1", all...)
	lacks(t, o.admin.Get(webhooks.Path), "All events of messages", "crm.example.com/a/hooks")
	page := o.admin.Get(webhooks.Path + "/" + e.ID)
	lacks(t, page, "All events of messages")
	if !strings.Contains(page.Body, `<h1 class="wrap">crm.example.com/a/hooks</h1>`) {
		t.Error("the title does not tell endpoints of one host apart")
	}
	more, _ := o.add(t, "https://crm.example.com/b", "campaign.completed")
	lacks(t, o.admin.Get(webhooks.Path), "Kinds of event: 1")
	lacks(t, o.admin.Get(webhooks.Path+"/"+more.ID), "Campaign completed")
}
