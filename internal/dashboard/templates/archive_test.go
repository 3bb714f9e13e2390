package templates_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
)

func TestArchive_LeavesTheList(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.create(textForm("Antigo", "Olá {{nome}}"))
	b.create(textForm("Novo", "Oi"))

	said := b.admin.Follow(b.admin.Post(path+"/archive", url.Values{}))
	contains(t, said, http.StatusOK, "The template “Antigo” was archived.", "<title>Antigo – Archived", "Restore")
	lacks(t, said, "/campaigns/new?template=")
	active := b.admin.Get(list)
	contains(t, active, http.StatusOK, "Novo", "Show archived (1)")
	lacks(t, active, "Antigo")
	archived := b.admin.Get(list + "?archived=1")
	contains(t, archived, http.StatusOK, "Antigo", "Archived templates")
	lacks(t, archived, "Novo")

	b.admin.Follow(b.admin.Post(path+"/restore", url.Values{}))
	contains(t, b.admin.Get(list), http.StatusOK, "Antigo", "Novo")
	audited := strings.Join(b.Audited(), "\n")
	for _, want := range []string{"template.archive Antigo", "template.restore Antigo"} {
		if !strings.Contains(audited, want) {
			t.Errorf("the audit log lacks %q:\n%s", want, audited)
		}
	}
}

// A version that is saved while the template is archived does not restore it.
func TestArchive_SavedAfterwards(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.create(textForm("Antigo", "Olá"))
	b.admin.Post(path+"/archive", url.Values{})
	form := textForm("Antigo", "Oi")
	form.Set("once", b.admin.Get(path+"/edit").Value("once"))
	if got := b.admin.Post(path, form); got.Status != http.StatusSeeOther {
		t.Fatalf("answered %d", got.Status)
	}
	contains(t, b.admin.Get(path), http.StatusOK, "Version 2", "Restore")
	contains(t, b.admin.Get(list), http.StatusOK, "All templates are archived.")
}

func TestArchive_OtherTenantAndViewer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.create(textForm("Meu", "Olá"))
	other := b.SignIn("other-"+b.tenant, web.RoleAdmin)
	for _, action := range []string{"/archive", "/restore", "/duplicate"} {
		if got := other.Post(path+action, url.Values{}); got.Status != http.StatusNotFound {
			t.Errorf("another tenant's %s: answered %d, want 404", action, got.Status)
		}
		if got := b.SignIn(b.tenant, web.RoleViewer).Post(path+action, url.Values{}); got.Status != http.StatusForbidden {
			t.Errorf("a viewer's %s: answered %d, want 403", action, got.Status)
		}
	}
	contains(t, b.admin.Get(list), http.StatusOK, "Meu")
}

func TestDuplicate(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.create(textForm("Natal", "Olá {{nome}}"))
	first := b.duplicate(path)
	contains(t, b.admin.Follow(first), http.StatusOK, "The template “Natal” was copied.", `value="Natal (copy)"`, "Olá {{nome}}")
	contains(t, b.admin.Get(strings.TrimSuffix(first.Location, "/edit")), http.StatusOK, "Version 1")
	contains(t, b.admin.Follow(b.duplicate(path)), http.StatusOK, `value="Natal (copy 2)"`)
	contains(t, b.admin.Get(path), http.StatusOK, "Version 1")
}

func TestDuplicate_SentTwice(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.create(textForm("Natal", "Olá"))
	form := url.Values{"once": {b.admin.Get(path).Value("once")}}
	b.admin.Post(path+"/duplicate", form)
	if got := b.admin.Post(path+"/duplicate", form); got.Status != http.StatusConflict {
		t.Errorf("answered %d, want 409", got.Status)
	}
	if n := strings.Count(b.admin.Get(list).Body, "Natal (copy"); n != 1 {
		t.Errorf("there are %d copies, want 1", n)
	}
}

func (b *bench) duplicate(path string) webtest.Answer {
	b.t.Helper()
	return b.admin.Post(path+"/duplicate", url.Values{"once": {b.admin.Get(path).Value("once")}})
}

func TestList_Search(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.create(textForm("Promoção de verão", "a"))
	b.create(textForm("Pedido enviado", "b"))
	found := b.admin.Get(list + "?q=PROMOCAO")
	contains(t, found, http.StatusOK, "Promoção de verão", `value="PROMOCAO"`)
	lacks(t, found, "Pedido enviado")
	contains(t, b.admin.Get(list+"?q=inverno"), http.StatusOK, "No template has this name.", "Show all")
}

func lacks(t *testing.T, page webtest.Answer, text string) {
	t.Helper()
	if strings.Contains(page.Body, text) {
		t.Errorf("the page has %q:\n%s", text, page.Body)
	}
}

// The title of a refused form says so.
func TestSave_RefusedTitle(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	form := textForm("", "Olá")
	form.Set("once", b.admin.Get(list+"/new").Value("once"))
	contains(t, b.admin.Post(list, form), http.StatusUnprocessableEntity, "<title>Correct this: New template")
}
