package campaigns_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dashboard/campaigns"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
)

// stepsOf returns which steps the list shows, with "+" for those that are done.
func stepsOf(a webtest.Answer) string {
	var steps []string
	for _, part := range strings.Split(a.Body, `id="start-`)[1:] {
		name, rest, _ := strings.Cut(part, `"`)
		if step, _, _ := strings.Cut(rest, "</li>"); strings.Contains(step, "Done") {
			name += "+"
		}
		steps = append(steps, name)
	}
	return strings.Join(steps, " ")
}

// A new tenant sees four steps, without a search over an empty list, until its first
// campaign.
func TestList_FirstSteps(t *testing.T) {
	t.Parallel()
	d := newService(t)
	see := func(want string, search bool) {
		t.Helper()
		a := d.admin().Get(campaigns.Path)
		if got := stepsOf(a); got != want || strings.Contains(a.Body, `role="search"`) != search {
			t.Errorf("the list shows the steps %q, want %q, and a search: %t", got, want, !search)
		}
	}
	d.credentials = []account.Credential{{RevokedAt: noon}}
	see("template test campaign credential", false)
	leads := func(step, to string) {
		t.Helper()
		_, part, _ := strings.Cut(d.admin().Get(campaigns.Path).Body, `id="start-`+step+`"`)
		if part, _, _ = strings.Cut(part, "</li>"); !strings.Contains(part, `href="`+to+`"`) {
			t.Errorf("the step %s does not lead to %s: %s", step, to, part)
		}
	}
	leads("template", "/dashboard/templates/new?example=1")
	leads("test", "/dashboard/templates/new?example=1")
	_, err := d.store.PutTemplate(t.Context(), campaign.Template{
		ID: "template-" + d.tenant, Tenant: d.tenant, Version: 1, Name: "t", Content: content.Content{Text: "Oi"},
	})
	d.must(err)
	see("template+ test campaign credential", false)
	leads("test", "/dashboard/templates/template-"+d.tenant+"#test")
	d.accept(uuid(), "Prova da vitrine", 1, 1, func(b *campaign.Batch) { b.Test = true })
	d.credentials = append(d.credentials, account.Credential{})
	see("template+ test+ campaign credential+", false)
	d.accept(uuid(), "Natal", 1, 1, nil)
	see("", true)
}

// A viewer sees the steps without links to pages that change something.
func TestList_FirstStepsOfViewer(t *testing.T) {
	t.Parallel()
	d := newService(t)
	a := d.SignIn(d.tenant, web.RoleViewer).Get(campaigns.Path)
	if got := stepsOf(a); got != "template test campaign credential" || strings.Contains(a.Body, `<a class="button`) {
		t.Errorf("a viewer sees the steps %q:\n%s", got, a.Text())
	}
}

// Test messages are listed apart from campaigns, whatever the names of both.
func TestList_TestsApart(t *testing.T) {
	t.Parallel()
	d := newService(t)
	names := []string{
		"Natal", "Teste: Natal 21/11/2037 12:00:05", "Teste: liquidação 10:00:00", "Prova da vitrine",
	}
	for i, name := range names {
		d.accept(uuid(), name, 1, 1, func(b *campaign.Batch) {
			b.AcceptedAt, b.Test = noon.Add(time.Duration(-i)*time.Minute), i%2 == 1
		})
	}
	for query, want := range map[string][]string{
		"":                        {names[0], names[2]},
		"?tests=1":                {names[1], names[3]},
		"?q=natal":                {names[0]},
		"?tests=1&q=natal":        {names[1]},
		"?q=vitrine":              nil,
		"?status=sending":         {names[0], names[2]},
		"?tests=1&status=sending": {names[1], names[3]},
	} {
		page := d.admin().Get(campaigns.Path + query).Body
		marked := strings.Contains(page, `<a href="/dashboard/campaigns?tests=1" aria-current="page">`)
		if marked != strings.Contains(query, "tests=1") {
			t.Errorf("%q marks the tab of tests: %t", query, marked)
		}
		got := namesOf(page)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%q lists %q, want %q", query, got, want)
		}
	}
}
