package templates_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dashboard/templates"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/media"
	"campaign-dispatch/internal/phone"
	"campaign-dispatch/localstack/stackenv"
)

// bench is a dashboard with the template pages and a new tenant on the stack's tables.
type bench struct {
	*webtest.Dashboard
	t      *testing.T
	store  *dynamotest.Store
	tenant string
	calls  *calls
	tables *weighed
	pages  *templates.Pages
	admin  webtest.Person
}

// weighed counts the bytes of DynamoDB's answers.
type weighed struct {
	dynamodb.HTTPClient

	bytes atomic.Int64
}

func (w *weighed) Do(r *http.Request) (*http.Response, error) {
	answer, err := w.HTTPClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	w.bytes.Add(int64(len(body)))
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return answer, err
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return newBenchWith(t, "https://l.example")
}

// newBenchWith returns a bench of a stack with a base URL of links.
func newBenchWith(t *testing.T, linkURL string) *bench {
	t.Helper()
	env := stackenv.Load(t)
	now := time.Date(2037, 11, 21, 15, 4, 5, 0, time.UTC)
	clock := func() time.Time { return now }
	config := env.AWS()
	tables := &weighed{HTTPClient: config.HTTPClient}
	config.HTTPClient = tables
	store := dynamotest.New(dynamo.Tables{
		Client: dynamodb.NewFromConfig(config), Auth: env["AUTH_TABLE"], Campaigns: env["CAMPAIGNS_TABLE"], Outcomes: env["OUTCOMES_TABLE"], Now: clock,
		MediaURL: "https://media.example",
	})
	b := &bench{t: t, store: store, tenant: "t-" + strings.ToLower(rand.Text()), calls: &calls{}, tables: tables}
	if err := store.SaveTenant(t.Context(), campaign.Tenant{ID: b.tenant, Name: "T"}, nil); err != nil {
		t.Fatal(err)
	}
	b.pages = &templates.Pages{
		Upload: func(p *web.Page) (web.Upload, error) {
			p.UploadTo("https://bucket.example")
			return web.Upload{Script: "/upload.js", Path: "/dashboard/media/uploads"}, nil
		},
		Media: media.Checker{Prober: media.NewProber(true), URL: "https://media.example"}, Store: store, Dispatch: b.calls,
		Now: clock, LinkURL: linkURL, MediaURL: "https://media.example",
	}
	var entries atomic.Int64
	later := func() time.Time { return now.Add(time.Duration(entries.Add(1))) } // no two entries of the audit log at once
	b.Dashboard = webtest.New(t, templates.Area(), b.pages, later)
	b.admin = b.SignIn(b.tenant, web.RoleAdmin)
	return b
}

// calls records accepted calls. The tests of internal/dispatch cover dispatch itself.
type calls struct {
	made    []dispatch.Call
	verdict dispatch.Verdict
	err     error
}

func (c *calls) Check(context.Context, dispatch.Call) (dispatch.Verdict, error) {
	return c.verdict, nil
}

func (c *calls) Accept(_ context.Context, made dispatch.Call) (dispatch.Receipt, error) {
	c.made = append(c.made, made)
	return dispatch.Receipt{}, c.err
}

func textForm(name, text string) url.Values {
	return url.Values{"name": {name}, "kind": {"text"}, "body": {text}, "card-title": {""}}
}

// create posts the form and returns the path of the new template.
func (b *bench) create(form url.Values) string {
	b.t.Helper()
	form.Set("once", b.admin.Get("/dashboard/templates/new").Value("once"))
	got := b.admin.Post("/dashboard/templates", form)
	path := got.Location
	if got.Status != http.StatusSeeOther || !strings.HasPrefix(path, "/dashboard/templates/") {
		b.t.Fatalf("answered %d to %q\n%s", got.Status, path, got.Body)
	}
	return path
}

func contains(t *testing.T, page webtest.Answer, status int, texts ...string) {
	t.Helper()
	if page.Status != status {
		t.Fatalf("answered %d, want %d\n%s", page.Status, status, page.Body)
	}
	for _, text := range texts {
		if !strings.Contains(page.Body, text) {
			t.Errorf("the page lacks %q:\n%s", text, page.Body)
		}
	}
}

func TestSave_CreatesAndChanges(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.create(textForm("Pedido", "Olá {{nome}},\r\nseu pedido {{pedido}}"))
	contains(t, b.admin.Get(path), http.StatusOK, "Pedido", `<span class="var">nome</span>`, "Version 1")
	contains(t, b.admin.Get(path+"/edit"), http.StatusOK, "Olá {{nome}},\nseu pedido {{pedido}}</textarea>")

	got := b.admin.Post(path, url.Values{
		"once": {b.admin.Get(path + "/edit").Value("once")}, "name": {"Pedido em cartão"}, "kind": {"card"}, "card-title": {"A caminho"},
		"card-description": {"Olá {{nome}}"}, "card-media": {"https://e.example/a.png"}, "card-s1": {`{"t":"Sim"}`}, "card-s2": {`{"t":"Não"}`}, "body": {"left over"},
	})
	if got.Status != http.StatusSeeOther || got.Location != path {
		t.Fatalf("answered %d\n%s", got.Status, got.Body)
	}
	id := strings.TrimPrefix(path, "/dashboard/templates/")
	current, err := b.store.Template(t.Context(), id)
	want := campaign.Template{ID: id, Tenant: b.tenant, Version: 2, Name: "Pedido em cartão", CreatedAt: b.UI.Now().Truncate(time.Millisecond), Content: content.Content{Card: &content.Card{
		Title: "A caminho", Description: "Olá {{nome}}", Media: &content.Media{URL: "https://e.example/a.png"}, Suggestions: content.Replies("Sim", "Não"),
	}}}
	if diff := cmp.Diff(want, current); diff != "" || err != nil {
		t.Errorf("second version %v (-want +got):\n%s", err, diff)
	}
	contains(t, b.admin.Get(path), http.StatusOK, "Version 2", "Version 1", "seu pedido", "A caminho", `src="https://e.example/a.png"`)
	contains(t, b.admin.Get("/dashboard/templates"), http.StatusOK, "Pedido em cartão", "Card with an image")

	audited := []string{"admin@example.com template.create Pedido", "admin@example.com template.change Pedido em cartão"}
	if diff := cmp.Diff(audited, webtest.AuditedIn(t, b.store, b.tenant)); diff != "" {
		t.Errorf("audit log (-want +got):\n%s", diff)
	}
}

func TestSave_SameFormTwice(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	form := textForm("Pedido", "Olá")
	path := b.create(form)
	contains(t, b.admin.Post("/dashboard/templates", form), http.StatusConflict, "was sent already", `href="/dashboard/templates"`)
	form.Set("once", b.admin.Get(path+"/edit").Value("once"))
	for _, status := range []int{http.StatusSeeOther, http.StatusConflict} {
		contains(t, b.admin.Post(path, form), status)
	}
	all, err := b.store.Templates(t.Context(), b.tenant)
	if err != nil || len(all) != 1 || all[0].Version != 2 {
		t.Errorf("saved %v, %v; want one template of two versions", all, err)
	}
	if n := len(b.everyEntry()); n != 2 {
		t.Errorf("%d entries in the audit log, want 2", n)
	}
}

// A refused template has no entry in the audit log.
func TestSave_RefusedFileNotAudited(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.create(textForm("Pedido", "Olá"))
	before := len(b.everyEntry())
	for _, at := range []string{templates.Path, path} {
		form := url.Values{
			"kind": {"card"}, "name": {"Cupom"}, "card-title": {"Oi"}, "card-media": {"https://media.example/media/" + strings.Repeat("a", 64) + ".png"},
			"once": {b.admin.Get(templates.Path + "/new").Value("once")},
		}
		contains(t, b.admin.Post(at, form), http.StatusConflict, "a file that is not in your company")
	}
	if all := b.everyEntry(); len(all) != before {
		t.Errorf("the audit log has %q", all)
	}
}

// limited is a store of a tenant with as many templates, and versions of them, as it can have.
type limited struct{ *dynamotest.Store }

func (l limited) Template(ctx context.Context, id string) (campaign.Template, error) {
	t, err := l.Store.Template(ctx, id)
	t.Version = campaign.MaxTemplateVersions
	return t, err
}

func (l limited) CreateTemplate(ctx context.Context, t campaign.Template, most int, e account.AuditEntry) (campaign.Template, bool, error) {
	return l.Store.CreateTemplate(ctx, t, most-campaign.MaxTemplates+1, e)
}

// The limits are those of the API.
func TestSave_Limits(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.create(textForm("Pedido", "Olá"))
	b.pages.Store = limited{b.store}
	for at, want := range map[string]string{templates.Path: "1,000 templates", path + "/duplicate": "1,000 templates", path: "1,000 versions"} {
		form := textForm("Pedido", "Oi")
		form.Set("once", b.admin.Get(templates.Path+"/new").Value("once"))
		contains(t, b.admin.Post(at, form), http.StatusConflict, want)
	}
	if all := b.everyEntry(); len(all) != 1 {
		t.Errorf("the audit log has %q", all)
	}
}

// everyEntry returns the lines of both audit logs.
func (b *bench) everyEntry() []string {
	return append(webtest.AuditedIn(b.t, b.store, b.tenant), b.Audited()...)
}

// Of two people who edit the same version, the second one is told of the first one's
// version before theirs replaces it.
func TestSave_TwoTabs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.create(textForm("Pedido", "Olá"))
	open := func(text string) url.Values {
		page := b.admin.Get(path + "/edit")
		form := textForm("Pedido", text)
		form.Set("once", page.Value("once"))
		form.Set("edited", page.Value("edited"))
		return form
	}
	first, second := open("Um"), open("Dois")
	contains(t, b.admin.Post(path, first), http.StatusSeeOther)
	refused := b.admin.Post(path, second)
	contains(t, refused, http.StatusConflict, "Somebody saved version 2", "Dois")
	if got, err := b.store.Template(t.Context(), path[len("/dashboard/templates/"):]); err != nil || got.Text != "Um" {
		t.Errorf("the text is %q (%v), want the first one's", got.Text, err)
	}
	second.Set("once", refused.Value("once"))
	second.Set("over", refused.Value("over"))
	contains(t, b.admin.Post(path, second), http.StatusSeeOther)
	if got, err := b.store.Template(t.Context(), path[len("/dashboard/templates/"):]); err != nil || got.Text != "Dois" || got.Version != 3 {
		t.Errorf("version %d, text %q (%v), want version 3 of the second one", got.Version, got.Text, err)
	}
}

func TestSave_WrongInput(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	card := func(name, value string) url.Values {
		return url.Values{"name": {"n"}, "kind": {"card"}, "card-title": {"t"}, name: {value}}
	}
	for name, test := range map[string]struct {
		form url.Values
		says string
	}{
		"no name":          {textForm(" ", "a"), "Name: it is blank"},
		"a long name":      {textForm(strings.Repeat("n", 201), "a"), "Name: 201 characters"},
		"no text":          {textForm("n", " "), "Text: it is blank"},
		"a long text":      {textForm("n", strings.Repeat("é", 3073)), "Text: 3,073 characters without the variables, at most 3,072"},
		"a wordy text":     {textForm("n", strings.Repeat("{{a}}", 1229)), "Text: 6,145 characters with the variables, at most 6,144"},
		"many variables":   {textForm("n", manyVariables(51)), "Variables: 51, at most 50"},
		"broken variable":  {textForm("n", "Olá {{nome completo}}"), "that is no variable"},
		"an empty card":    {url.Values{"name": {"n"}, "kind": {"card"}, "card-title": {""}}, "Card: it is blank"},
		"a long title":     {card("card-title", strings.Repeat("t", 201)), "Title: 201 characters"},
		"a long text card": {card("card-description", strings.Repeat("t", 2001)), "Description: 2,001 characters"},
		"plain http":       {card("card-media", "http://e.example/a.png"), "begins with https://"},
		"a long reply":     {card("card-s1", `{"t":"`+strings.Repeat("t", 26)+`"}`), "Button 1: 26 characters"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			contains(t, b.admin.Post("/dashboard/templates", test.form), http.StatusUnprocessableEntity, "The template was not saved", test.says)
		})
	}
	t.Cleanup(func() {
		if all, err := b.store.Templates(context.Background(), b.tenant); err != nil || len(all) > 0 {
			t.Errorf("saved: %v %v", all, err)
		}
	})
}

func TestPreview_Form(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	form := textForm("n", "<b>Olá</b> {{nome}}")
	whole := b.admin.Post("/dashboard/templates/preview", form)
	contains(t, whole, http.StatusOK, "<!doctype html>", "&lt;b&gt;Olá&lt;/b&gt; ", `<span class="var">nome</span>`)

	b.admin.Header.Set("Hx-Request", "true")
	part := b.admin.Post("/dashboard/templates/preview", form)
	contains(t, part, http.StatusOK, "&lt;b&gt;Olá&lt;/b&gt; ", `<span class="var">nome</span>`, "11 / 3,072")
	if strings.Contains(part.Body, "<!doctype") || strings.Contains(part.Body, "<b>") {
		t.Errorf("the fragment is\n%s", part.Body)
	}
	contains(t, b.admin.Post("/dashboard/templates/preview", textForm("n", "{{x")), http.StatusOK, "that is no variable")
	form.Set("dark", "1")
	contains(t, b.admin.Post("/dashboard/templates/preview", form), http.StatusOK, `name="dark" value="1" checked`)
}

func TestPages_Roles(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.create(textForm("<script>alert(1)</script>", "Olá"))
	viewer, other := b.SignIn(b.tenant, web.RoleViewer), b.SignIn("t-other", web.RoleAdmin)

	page := viewer.Get(path)
	contains(t, page, http.StatusOK, "&lt;script&gt;alert(1)&lt;/script&gt;")
	if strings.Contains(page.Body, "<script>alert") || strings.Contains(page.Body, "/test") {
		t.Errorf("a viewer sees\n%s", page.Body)
	}
	for _, to := range []string{"/dashboard/templates/new", path + "/edit"} {
		contains(t, viewer.Get(to), http.StatusForbidden)
	}
	form := textForm("n", "a")
	for _, to := range []string{"/dashboard/templates", "/dashboard/templates/preview", path, path + "/test"} {
		contains(t, viewer.Post(to, form), http.StatusForbidden)
		without := url.Values{"csrf": {""}, "name": {"n"}, "body": {"a"}}
		contains(t, b.admin.Post(to, without), http.StatusForbidden, "The page has expired")
	}
	for _, to := range []string{path, path + "/edit", "/dashboard/templates/nothing", "/dashboard/templates/" + strings.Repeat("x", 3000)} {
		contains(t, other.Get(to), http.StatusNotFound)
	}
	contains(t, other.Post(path, form), http.StatusNotFound)
	contains(t, other.Post(path+"/test", form), http.StatusNotFound)
	if now, err := b.store.Template(t.Context(), strings.TrimPrefix(path, "/dashboard/templates/")); err != nil || now.Version != 1 {
		t.Errorf("version %d, want the first (%v)", now.Version, err)
	}
	if len(b.calls.made) > 0 {
		t.Error("a test was sent")
	}
}

func TestTestSend_OneMessage(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.create(textForm("Pedido", "Olá {{nome}}, {{pedido}}"))
	form := url.Values{
		"once": {b.admin.Get(path).Value("once")}, "phone": {" (11) 98765-4321"}, "var.nome": {"Ana"}, "var.pedido": {"7"},
	}
	got := b.admin.Post(path+"/test", form)

	if len(b.calls.made) != 1 {
		t.Fatalf("calls: %+v\n%s", b.calls.made, got.Body)
	}
	id := b.calls.made[0].CampaignID
	if got.Status != http.StatusSeeOther || got.Location != "/dashboard/campaigns/"+id {
		t.Errorf("answered %d %s", got.Status, got.Location)
	}
	want := dispatch.Call{
		ID: campaign.ID{Tenant: b.tenant, CampaignID: id}, Name: "Test: Pedido 21 Nov 2037, 12:04:05", Batch: "Test",
		TemplateID: strings.TrimPrefix(path, "/dashboard/templates/"), TemplateVersion: 1, Test: true,
		Messages: []dispatch.Message{{Phone: "11987654321", UID: "teste", Vars: map[string]string{"nome": "Ana", "pedido": "7"}}},
	}
	if diff := cmp.Diff(want, b.calls.made[0]); diff != "" {
		t.Errorf("call (-want +got):\n%s", diff)
	}
	again := b.admin.Post(path+"/test", form)
	contains(t, again, http.StatusConflict, "requested already", `href="`+path+`"`)
	if len(b.calls.made) != 1 {
		t.Errorf("sent %d times", len(b.calls.made))
	}
	audited := []string{"admin@example.com template.create Pedido", "admin@example.com template.test Pedido"}
	if diff := cmp.Diff(audited, b.everyEntry()); diff != "" {
		t.Errorf("audit log (-want +got):\n%s", diff)
	}
}

// The preview of a test shows the entered values. Missing ones appear by name.
func TestTestSend_Preview(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	saved := b.keep(campaign.Template{ID: templateID(0), Name: "Pedido", Content: content.Content{
		Card:        &content.Card{Title: "Olá {{nome}}", Media: &content.Media{URL: "https://e.example/{{foto}}.png"}},
		Suggestions: []content.Suggestion{{Kind: content.OpenURL, Text: "Ver", URL: "{{link}}"}},
	}})
	path := "/dashboard/templates/" + saved.ID
	form := url.Values{"phone": {"11987654321"}, "var.nome": {"<Ana>"}}
	whole := b.admin.Post(path+"/preview", form)
	contains(t, whole, http.StatusOK, "<!doctype html>", "Olá &lt;Ana&gt;", `value="11987654321"`)
	if strings.Contains(whole.Body, "<img") {
		t.Error("the page has an image whose URL lacks a value")
	}
	b.admin.Header.Set("Hx-Request", "true")
	form["var.foto"], form["var.link"] = []string{"a b"}, []string{"http://e.example/"}
	part := b.admin.Post(path+"/preview", form)
	contains(t, part, http.StatusOK, "Olá &lt;Ana&gt;", `src="https://e.example/a%20b.png"`, "an address in the message is not https://")
	if strings.Contains(part.Body, "<!doctype") {
		t.Errorf("the fragment is\n%s", part.Body)
	}
	form.Set("var.link", "https://e.example/")
	if fine := b.admin.Post(path+"/preview", form); strings.Contains(fine.Body, "not https://") {
		t.Errorf("an https URL is refused:\n%s", fine.Body)
	}
	contains(t, b.SignIn("t-other", web.RoleAdmin).Post(path+"/preview", form), http.StatusNotFound)
	contains(t, b.SignIn(b.tenant, web.RoleViewer).Post(path+"/preview", form), http.StatusForbidden)
}

// Each form is named in the list.
func TestList_Forms(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i, c := range []content.Content{
		{Text: "Olá"},
		{Card: &content.Card{Title: "Olá"}},
		{File: &content.File{URL: "https://e.example/a.pdf"}},
		{Carousel: &content.Carousel{Cards: []content.Card{{Title: "a"}, {Title: "b"}}}},
	} {
		b.keep(campaign.Template{ID: templateID(i), Name: fmt.Sprint("Modelo ", i), Content: c})
	}
	page := b.admin.Get("/dashboard/templates")
	for i, form := range []string{"Text", "Card with an image", "File", "Carousel"} {
		if want := fmt.Sprintf("Modelo %d %s 1", i, form); !strings.Contains(page.Text(), want) {
			t.Errorf("the page lacks %q: %s", want, page.Text())
		}
	}
}

func TestTestSend_Refused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.create(textForm("Pedido", "Olá {{nome}}"))
	contains(t, b.admin.Post(path+"/test", url.Values{"phone": {"11987654321"}, "var.nome": {" "}}), http.StatusUnprocessableEntity, "Fill in: nome.")
	form := url.Values{"phone": {"119"}, "var.nome": {"<i>Ana"}, "once": {b.admin.Get(path).Value("once")}}
	_, rejection := phone.ParseTyped("119")
	b.calls.verdict = dispatch.Verdict{Rejected: []dispatch.Rejection{{Rejection: *rejection}}}
	contains(t, b.admin.Post(path+"/test", form), http.StatusUnprocessableEntity, "The area code was left out", `value="119"`, `value="&lt;i&gt;Ana"`)
	b.calls.verdict = dispatch.Verdict{Faults: []dispatch.Fault{{Message: -1, Code: "new_code", Detail: "a rule that is new"}}}
	contains(t, b.admin.Post(path+"/test", form), http.StatusUnprocessableEntity, "a rule that is new")
	b.calls.verdict = dispatch.Verdict{Accepted: 1, InvalidURLs: []int{0}}
	contains(t, b.admin.Post(path+"/test", form), http.StatusUnprocessableEntity, "an address in the message is not https://")
	if len(b.calls.made) > 0 {
		t.Error("it was sent")
	}
	b.calls.verdict, b.calls.err = dispatch.Verdict{}, &dispatch.Refusal{Faults: []dispatch.Fault{{Message: -1, Code: "campaign_name_taken"}}}
	contains(t, b.admin.Post(path+"/test", form), http.StatusUnprocessableEntity, "Another campaign has this name")
}

// The example of the first steps can be saved as it is.
func TestNew_Example(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	page := b.admin.Get(templates.Path + "/new?example=1")
	contains(t, page, http.StatusOK, `value="Welcome"`, "Hi {{name}}!", "Yes, please")
	form := url.Values{"once": {page.Value("once")}, "kind": {"text"}, "name": {"Welcome"}, "body": {"Hi {{name}}!"}, "s1": {page.Value("s1")}}
	saved := b.admin.Follow(b.admin.Post(templates.Path, form))
	contains(t, saved, http.StatusOK, "Welcome", "Yes, please", `name="var.name"`)
}
