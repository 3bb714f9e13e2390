package templates_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/media/mediafile"
)

const (
	text     = `{"name":"Oferta","traffic":"transaction","text":"Olá {{nome}}, pedido {{pedido}}"}`
	carousel = `{"name":"Natal","carousel":{"width":"small","cards":[
		{"title":"Tênis {{cor}}","media":{"url":"https://loja.example/t.png?c={{cor}}","height":"short"},
		 "suggestions":[{"kind":"openUrl","text":"Ver","url":"https://loja.example/?u={{nome}}","webview":"tall"}]},
		{"title":"Bolsa","media":{"url":"https://loja.example/b.png","height":"short"}}]},
		"suggestions":[{"kind":"dial","text":"Ligar","phone":"+551133334444"},
			{"kind":"calendarEvent","text":"Agendar","event":{"title":"Natal","start":"2037-12-24T18:00:00-03:00","end":"2037-12-24T22:00:00-03:00"}}]}`
)

func TestCreate_ReadBack(t *testing.T) {
	t.Parallel()
	d := newTenant(t)
	for name, body := range map[string]string{"text": text, "carousel": carousel} {
		made := d.create(body)
		if want := "/api/v1/external/templates/" + made.ID; made.header.Get("Location") != want || made.Version != 1 {
			t.Errorf("%s: version %d at %q", name, made.Version, made.header.Get("Location"))
		}
		for _, path := range []string{"/" + made.ID, "/" + strings.ToUpper(made.ID), "/" + made.ID + "/versions/1"} {
			read := d.send(http.MethodGet, path, "")
			read.want(t, http.StatusOK, "")
			if diff := cmp.Diff(string(made.body), string(read.body)); diff != "" {
				t.Errorf("%s: created and read differ: %s", name, diff)
			}
		}
		var sent, read map[string]any
		if err := errorsOf(json.Unmarshal([]byte(body), &sent), json.Unmarshal(made.body, &read)); err != nil {
			t.Fatal(err)
		}
		for field, value := range sent {
			if diff := cmp.Diff(value, read[field]); diff != "" {
				t.Errorf("%s: %s: %s", name, field, diff)
			}
		}
	}
}

func errorsOf(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestCreate_Audited(t *testing.T) {
	t.Parallel()
	d := newTenant(t)
	made := d.create(text)
	d.send(http.MethodPost, "/"+made.ID+"/versions", `{"version":1,"name":"Novo","text":"a"}`).want(t, http.StatusCreated, "")
	d.send(http.MethodPost, "/"+made.ID+"/versions", `{"version":1,"name":"Outro","text":"b"}`).want(t, http.StatusConflict, "version_conflict")
	want := []string{d.clientID + " template.create Oferta", d.clientID + " template.change Novo"}
	if diff := cmp.Diff(want, d.audited()); diff != "" {
		t.Error(diff)
	}
}

func TestCreate_Repeated(t *testing.T) {
	t.Parallel()
	d := newTenant(t)
	first, again := d.create(text), d.create(text)
	if first.ID == again.ID {
		t.Error("a call without a key was taken for a repetition")
	}
	key := random.UUID()
	first = d.create(text, "Idempotency-Key", key)
	d.send(http.MethodPost, "/"+first.ID+"/versions", `{"version":1,"name":"Novo","text":"a"}`).want(t, http.StatusCreated, "")
	again = d.create(text, "Idempotency-Key", key)
	if diff := cmp.Diff(string(first.body), string(again.body)); diff != "" {
		t.Errorf("the repetition answers differently: %s", diff)
	}
	d.send(http.MethodPost, "", carousel, "Idempotency-Key", key).want(t, http.StatusUnprocessableEntity, "idempotency_key_reused")
	d.send(http.MethodPost, "", text, "Idempotency-Key", "é").want(t, http.StatusBadRequest, "invalid_idempotency_key")
	if got := d.audited(); len(got) != 4 {
		t.Errorf("audited %q, want 3 creations and a change", got)
	}
}

// Calls with one key at the same time create one template.
func TestCreate_RepeatedConcurrently(t *testing.T) {
	t.Parallel()
	d := newTenant(t)
	key, ids := random.UUID(), make([]string, 8)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() { ids[i] = d.create(text, "Idempotency-Key", key).ID })
	}
	all.Wait()
	if len(slices.Compact(ids)) != 1 || len(d.send(http.MethodGet, "", "").Templates) != 1 {
		t.Errorf("created %q", ids)
	}
}

// Defaults, which the table stores as absent values, do not make another template.
func TestRepeated_Defaults(t *testing.T) {
	t.Parallel()
	d := newTenant(t)
	for _, body := range []string{
		`"traffic":"promotion","card":{"title":"a","mediaRight":true,"media":{"url":"https://a.example/{{v}}","height":"medium"}}`,
		`"card":{"title":"a","media":{"url":"https://a.example/a.png"},"suggestions":[{"kind":"reply","text":"Sim"}]}`,
		`"carousel":{"width":"medium","cards":[{"title":"a"},{"title":"b","media":{"url":"https://a.example","height":"medium"}}]}`,
		`"text":"a","suggestions":[{"kind":"calendarEvent","text":"a","event":{"title":"a","start":"2037-12-24T18:00:00Z","end":"2037-12-24T16:00:00-03:00"}}]`,
	} {
		key := random.UUID()
		first, again := d.create(named(body), "Idempotency-Key", key), d.create(named(body), "Idempotency-Key", key)
		if diff := cmp.Diff(string(first.body), string(again.body)); diff != "" {
			t.Errorf("the repetition answers differently: %s", diff)
		}
		versions := "/" + first.ID + "/versions"
		change := `{"version":1,` + strings.Replace(named(body), `{`, ``, 1)
		second, repeated := d.send(http.MethodPost, versions, change), d.send(http.MethodPost, versions, change)
		if second.status != http.StatusCreated || second.Version != 2 || !bytes.Equal(second.body, repeated.body) {
			t.Errorf("a repeated change answers %s, then %s", second.body, repeated.body)
		}
	}
}

// A change that is repeated at the same time is saved once and answered alike.
func TestChange_RepeatedConcurrently(t *testing.T) {
	t.Parallel()
	d := newTenant(t)
	made := d.create(text)
	answers := make([]string, 8)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() {
			answers[i] = string(d.send(http.MethodPost, "/"+made.ID+"/versions", `{"version":1,"name":"n","text":"a"}`).body)
		})
	}
	all.Wait()
	if distinct := slices.Compact(answers); len(distinct) != 1 || !strings.Contains(distinct[0], `"version":2`) {
		t.Errorf("answered %q", distinct)
	}
}

func TestChange(t *testing.T) {
	t.Parallel()
	d := newTenant(t)
	made := d.create(text)
	versions := "/" + made.ID + "/versions"
	d.send(http.MethodPost, versions, `{"name":"a","text":"b"}`).want(t, http.StatusBadRequest, "missing_field")

	// The answer of a read is the body of a change.
	changed := strings.Replace(string(made.body), "Olá", "Oi", 1)
	second := d.send(http.MethodPost, versions, changed)
	second.want(t, http.StatusCreated, "")
	if second.Version != 2 || second.Text != "Oi {{nome}}, pedido {{pedido}}" || second.Traffic != "transaction" {
		t.Errorf("version 2 is %s", second.body)
	}
	if again := d.send(http.MethodPost, versions, changed); again.status != http.StatusCreated || again.Version != 2 {
		t.Errorf("a repeated change answers %d, version %d", again.status, again.Version)
	}
	lost := d.send(http.MethodPost, versions, `{"version":1,"name":"a","text":"b"}`)
	lost.want(t, http.StatusConflict, "version_conflict")
	if diff := cmp.Diff([]violation{{"/version", "version_conflict"}}, lost.Errors); diff != "" {
		t.Error(diff)
	}
	d.send(http.MethodPost, versions, `{"version":3,"name":"a","text":"b"}`).want(t, http.StatusConflict, "version_conflict")
	if newest := d.send(http.MethodGet, "/"+made.ID, ""); newest.Version != 2 {
		t.Errorf("the newest version is %d, want 2", newest.Version)
	}
	if first := d.send(http.MethodGet, versions+"/1", ""); first.Text != made.Text {
		t.Errorf("version 1 is now %q", first.Text)
	}
	d.send(http.MethodGet, versions+"/3", "").want(t, http.StatusNotFound, "version_not_found")
	d.send(http.MethodGet, versions+"/0", "").want(t, http.StatusNotFound, "version_not_found")
	d.sendAny(http.MethodGet, versions+"/x", "").want(t, http.StatusNotFound, "version_not_found")
}

// Of concurrent changes of one version, one is saved and the others are refused.
func TestSave_UploadedFile(t *testing.T) {
	t.Parallel()
	d := newTenant(t)
	f := mediafile.File{Tenant: d.id, Hash: mediafile.Hash(d.id, "a"), Name: "a.png", Type: "image/png", Size: 1}
	if _, err := d.store.AddMedia(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	shows := func(f mediafile.File) string { return `"file":{"url":"` + f.Link(mediaURL) + `"}` }
	id := d.create(named(shows(f))).ID
	foreign := f
	foreign.Hash = mediafile.Hash("another", "a")
	d.send(http.MethodPost, "", named(shows(foreign))).want(t, http.StatusBadRequest, "unknown_value")
	d.send(http.MethodPost, "/"+id+"/versions", named(`"version":1,"traffic":"transaction",`+shows(foreign))).want(t, http.StatusBadRequest, "unknown_value")
	d.send(http.MethodPost, "/"+id+"/versions", named(`"version":1,"traffic":"transaction",`+shows(f))).want(t, http.StatusCreated, "")
}

func TestChange_Concurrent(t *testing.T) {
	t.Parallel()
	d := newTenant(t)
	made := d.create(text)
	statuses := make([]int, 8)
	var all sync.WaitGroup
	for i := range statuses {
		all.Go(func() {
			statuses[i] = d.send(http.MethodPost, "/"+made.ID+"/versions", fmt.Sprintf(`{"version":1,"name":"n%d","text":"a"}`, i)).status
		})
	}
	all.Wait()
	slices.Sort(statuses)
	if diff := cmp.Diff([]int{201, 409, 409, 409, 409, 409, 409, 409}, statuses); diff != "" {
		t.Error(diff)
	}
	if newest := d.send(http.MethodGet, "/"+made.ID, ""); newest.Version != 2 {
		t.Errorf("the newest version is %d, want 2", newest.Version)
	}
}

func TestOtherTenant(t *testing.T) {
	t.Parallel()
	owner, other := newTenant(t), newTenant(t)
	made := owner.create(text)
	for _, id := range []string{made.ID, random.UUID(), "x"} {
		for path, body := range map[string]string{"": "", "/versions/1": "", "/versions": `{"version":1,"name":"a","text":"b"}`, "/preview": `{}`} {
			method := http.MethodPost
			if body == "" {
				method = http.MethodGet
			}
			other.send(method, "/"+id+path, body).want(t, http.StatusNotFound, "template_not_found")
		}
	}
	if got := other.send(http.MethodGet, "", ""); len(got.Templates) != 0 {
		t.Errorf("the other tenant sees %s", got.body)
	}
	// The same key of another tenant names another template.
	key := random.UUID()
	if owner.create(text, "Idempotency-Key", key).ID == other.create(text, "Idempotency-Key", key).ID {
		t.Error("two tenants have one template")
	}
}

func TestList_Pages(t *testing.T) {
	t.Parallel()
	d := newTenant(t)
	var want, got []string
	for i := range 5 {
		want = append(want, d.create(fmt.Sprintf(`{"name":"n%d","text":"a"}`, i)).ID)
	}
	slices.Sort(want)
	for cursor := ""; ; {
		page := d.send(http.MethodGet, "?limit=2&cursor="+cursor, "")
		page.want(t, http.StatusOK, "")
		for _, each := range page.Templates {
			got = append(got, each.ID)
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
		if len(page.Templates) != 2 {
			t.Fatalf("a page has %d templates", len(page.Templates))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if whole := d.send(http.MethodGet, "?limit=5", ""); whole.NextCursor != "" || len(whole.Templates) != 5 {
		t.Errorf("a full last page has the cursor %q", whole.NextCursor)
	}
}

func TestQuery(t *testing.T) {
	t.Parallel()
	d := newTenant(t)
	made := d.create(text)
	for _, c := range []struct{ method, path, body, code string }{
		{"GET", "?limit=0", "", "invalid_limit"},
		{"GET", "?limit=501", "", "invalid_limit"},
		{"GET", "?limit=1&limit=2", "", "invalid_limit"},
		{"GET", "?Limit=2", "", "invalid_limit"},
		{"GET", "?cursor=x", "", "invalid_cursor"},
		{"GET", "?cursor%3Dx", "", "invalid_cursor"},
		{"POST", "?dryRun=true", text, "invalid_dry_run"},
		{"POST", "?dry_run=true", text, "invalid_dry_run"},
		{"POST", "/" + made.ID + "/versions?dryRun=true", text, "invalid_dry_run"},
		{"POST", "/preview?dryRun=1", `{"template":` + text + `}`, "invalid_dry_run"},
	} {
		d.sendAny(c.method, c.path, c.body).want(t, http.StatusBadRequest, c.code)
	}
	if got := d.send(http.MethodGet, "", ""); len(got.Templates) != 1 {
		t.Errorf("a refused call saved a template: %s", got.body)
	}
}

func TestLimits_Templates(t *testing.T) {
	t.Parallel()
	d := newTenant(t)
	entry := account.AuditEntry{Tenant: d.id, At: noon}
	for i := range 3 {
		made := campaign.Template{ID: random.UUID(), Tenant: d.id, Name: "n", Content: content.Content{Text: "a"}}
		_, full, err := d.store.CreateTemplate(t.Context(), made, 2, entry)
		if err != nil || full != (i == 2) {
			t.Errorf("template %d of 2 at most: full %t, %v", i+1, full, err)
		}
	}
}

// Calls at the same time do not exceed the maximum.
func TestLimits_TemplatesConcurrently(t *testing.T) {
	t.Parallel()
	d := newTenant(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			made := campaign.Template{ID: random.UUID(), Tenant: d.id, Name: "n", Content: content.Content{Text: "a"}}
			if _, _, err := d.store.CreateTemplate(t.Context(), made, 3, account.AuditEntry{Tenant: d.id, At: noon}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := d.send(http.MethodGet, "", ""); len(got.Templates) != 3 {
		t.Errorf("%d templates, want 3", len(got.Templates))
	}
}

func TestPreview(t *testing.T) {
	t.Parallel()
	d := newTenant(t)
	made := d.create(text)
	got := d.send(http.MethodPost, "/"+made.ID+"/preview", `{"vars":{"nome":"Ana","pedido":1.50}}`)
	got.want(t, http.StatusOK, "")
	if got.Content.Text != "Olá Ana, pedido 1.50" || got.Class != "basic" || got.TextBytes != 21 || len(got.Errors) != 0 {
		t.Errorf("rendered %s", got.body)
	}
	long := d.send(http.MethodPost, "/"+made.ID+"/preview", `{"vars":{"nome":"`+strings.Repeat("a", 145)+`","pedido":true}}`)
	if long.Class != "single" {
		t.Errorf("161 bytes are %s", long.Class)
	}
	bad := d.send(http.MethodPost, "/"+made.ID+"/preview", `{"version":1,"vars":{"pedido":[]}}`)
	if diff := cmp.Diff([]violation{{"/vars/nome", "missing_variable"}, {"/vars/pedido", "invalid_variable"}}, bad.Errors); diff != "" {
		t.Error(diff)
	}
	lost := d.send(http.MethodPost, "/"+made.ID+"/preview", `{"version":1,"vars":{"nome":"Jos�","pedido":"\u0000"}}`)
	if len(lost.Errors) != 2 || lost.Errors[0] != (violation{"/vars/nome", "invalid_utf8"}) || lost.Errors[1] != (violation{"/vars/pedido", "invalid_character"}) {
		t.Errorf("errors of lost letters and NUL: %+v", lost.Errors)
	}
	d.send(http.MethodPost, "/"+made.ID+"/preview", `{"version":2}`).want(t, http.StatusNotFound, "version_not_found")
	tooLong := d.send(http.MethodPost, "/"+made.ID+"/preview", `{"vars":{"nome":"`+strings.Repeat("a", 3072)+`","pedido":1}}`)
	if diff := cmp.Diff([]violation{{"", "text_too_long"}}, tooLong.Errors); diff != "" {
		t.Error(diff)
	}
}

func TestPreview_Unsaved(t *testing.T) {
	t.Parallel()
	d := newTenant(t)
	got := d.send(http.MethodPost, "/preview", `{"template":{"name":"n","file":{"url":"{{link}}"}},"vars":{"link":"https://loja.example/a.pdf"}}`)
	if got.Content.File.URL != "https://loja.example/a.pdf" || got.Class != "single" || len(got.Errors) != 0 {
		t.Errorf("rendered %s", got.body)
	}
	invalid := d.send(http.MethodPost, "/preview", `{"template":{"name":"n","file":{"url":"{{link}}"}},"vars":{"link":"http://loja.example"}}`)
	if diff := cmp.Diff([]violation{{"", "invalid_url"}}, invalid.Errors); diff != "" {
		t.Error(diff)
	}
	flawed := d.sendAny(http.MethodPost, "/preview", `{"template":{"name":" ","text":"{{"}}`)
	if diff := cmp.Diff([]violation{{"/template/name", "blank"}, {"/template/text", "invalid_braces"}}, flawed.Errors); flawed.status != http.StatusOK || diff != "" {
		t.Errorf("status %d: %s", flawed.status, diff)
	}
	d.send(http.MethodPost, "/preview", `{}`).want(t, http.StatusBadRequest, "missing_field")
	if list := d.send(http.MethodGet, "", ""); len(list.Templates) != 0 || len(d.audited()) != 0 {
		t.Errorf("a preview was saved: %s", list.body)
	}
}

// Many uses of a long value do not exhaust the memory.
func TestPreview_Expansion(t *testing.T) {
	t.Parallel()
	d := newTenant(t)
	card := `{"description":"` + strings.Repeat("{{a}}", 600) + `"}`
	got := d.send(http.MethodPost, "/preview", `{"template":{"name":"n","carousel":{"cards":[`+card+strings.Repeat(","+card, 9)+`]}},"vars":{"a":"`+strings.Repeat("a", 200_000)+`"}}`)
	if diff := cmp.Diff([]violation{{"", "text_too_long"}}, got.Errors); got.status != http.StatusOK || diff != "" {
		t.Errorf("status %d: %s", got.status, diff)
	}
}
