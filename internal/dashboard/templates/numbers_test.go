package templates_test

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
)

const numbersPath = "/dashboard/templates/test-numbers"

// A test goes to saved numbers, each once.
func TestTestNumbers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.create(textForm("Pedido", "Olá"))
	for name, phone := range map[string]string{"Ana": "(11) 98765-4321", "Bia": "11 98765-4322"} {
		for range 2 { // a double click
			if a := b.admin.Post(numbersPath, url.Values{"name": {name}, "phone": {phone}}); a.Location != numbersPath {
				t.Fatalf("saving %s: %d %s", name, a.Status, a.Text())
			}
		}
	}
	page := b.admin.Get(path)
	contains(t, page, http.StatusOK, "Ana", "…4321", "Bia", `value="&#43;5511987654322"`)
	b.admin.Post(path+"/test", url.Values{
		"once": {page.Value("once")}, "phone": {"11987654321"}, "to": {"+5511987654321", "+5511987654322", "+5511911111111"},
	})
	if len(b.calls.made) != 1 {
		t.Fatalf("calls: %+v", b.calls.made)
	}
	var phones []string
	for _, m := range b.calls.made[0].Messages {
		phones = append(phones, m.Phone)
	}
	if diff := cmp.Diff([]string{"11987654321", "+5511987654322"}, phones); diff != "" {
		t.Errorf("sent to (-want +got):\n%s", diff)
	}
	b.admin.Post(numbersPath+"/delete", url.Values{"phone": {"+5511987654321"}, "name": {"Ana"}})
	contains(t, b.SignIn(b.tenant, web.RoleAuthor).Get(numbersPath), http.StatusOK, "Bia", "&#43;5511987654322")
	if a := b.admin.Post(path+"/test", url.Values{"to": {"+5511987654321"}}); a.Status != http.StatusUnprocessableEntity || len(b.calls.made) != 1 {
		t.Errorf("a deleted number: %d, %d calls", a.Status, len(b.calls.made))
	}
}

// Of people who save numbers at the same time, each has an entry in the audit log, and only one.
func TestTestNumbers_Audited(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var want []string
	var saving sync.WaitGroup
	for n := range 5 {
		name := "n" + strconv.Itoa(n)
		want = append(want, "admin@example.com template.number_save "+name)
		saving.Go(func() {
			b.admin.Post(numbersPath, url.Values{"name": {name}, "phone": {"1198765433" + strconv.Itoa(n)}})
		})
	}
	saving.Wait()
	b.admin.Post(numbersPath+"/delete", url.Values{"phone": {"+5511987654330"}, "name": {"n0"}})
	got := webtest.AuditedIn(t, b.store, b.tenant)
	slices.Sort(got[:max(0, len(got)-1)])
	if diff := cmp.Diff(append(want, "admin@example.com template.number_delete n0"), got); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

// A number is saved on the page of the template, which keeps what was entered for the test.
func TestTestNumbers_SavedBesideTest(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.create(textForm("Pedido", "Oi {{nome}}"))
	form := url.Values{"do": {"save-number"}, "name": {"Ana"}, "number": {"11 98765-4321"}, "phone": {"11987654322"}, "var.nome": {"Bia"}}
	part := b.admin
	part.Header = http.Header{"Hx-Request": {"true"}}
	a := part.Post(path+"/test", form)
	contains(t, a, http.StatusOK, `<section class="card" id="test">`, `value="&#43;5511987654321" checked`, `value="11987654322"`, `value="Bia"`, "The number of Ana was saved")
	if strings.Contains(a.Body, "<html") || len(b.calls.made) != 0 {
		t.Errorf("saving a number sends %d tests, and answers:\n%s", len(b.calls.made), a.Body)
	}
	if a := b.admin.Post(path+"/test", form); a.Location != path+"#test" {
		t.Errorf("without a script, saving leads to %q", a.Location)
	}
	form.Set("number", "119")
	contains(t, b.admin.Post(path+"/test", form), http.StatusUnprocessableEntity, "The area code was left out", `id="new-number" open`, `value="119"`, `value="Bia"`)
}

func TestTestNumbers_Refused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	contains(t, b.admin.Post(numbersPath, url.Values{"name": {"Ana"}, "phone": {"119"}}), http.StatusUnprocessableEntity, "The area code was left out", `value="Ana"`)
	contains(t, b.admin.Post(numbersPath, url.Values{"phone": {"11987654321"}}), http.StatusUnprocessableEntity, "Write whose number it is", `value="11987654321"`)
	for n := range 10 {
		b.admin.Post(numbersPath, url.Values{"name": {"n"}, "phone": {"1198765433" + strconv.Itoa(n)}})
	}
	contains(t, b.admin.Post(numbersPath, url.Values{"name": {"Ana"}, "phone": {"11987654321"}}), http.StatusConflict, "There are 10 numbers already.")
	contains(t, b.SignIn("t-other", web.RoleAdmin).Get(numbersPath), http.StatusOK, "No saved numbers.")
	contains(t, b.SignIn(b.tenant, web.RoleViewer).Get(numbersPath), http.StatusForbidden)
	contains(t, b.SignIn(b.tenant, web.RoleApprover).Post(numbersPath, nil), http.StatusForbidden)
}
