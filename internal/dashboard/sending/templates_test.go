package sending_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dashboard/sending"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
)

// many has more templates than the form lists, with names of the greatest length.
type many struct{ memory }

const manyTemplates = 120

func manyID(i int) string { return fmt.Sprintf("5b0e6d3c-0000-4000-8000-%012d", i) }

func (m many) Templates(context.Context, string) ([]campaign.Template, error) {
	var all []campaign.Template
	for i := range manyTemplates {
		all = append(all, campaign.Template{
			ID: manyID(i), Name: fmt.Sprintf("%03d", (i*7)%1000) + strings.Repeat("&", campaign.MaxTemplateName-3),
			CreatedAt: time.Date(2037, 1, 1, 0, i, 0, 0, time.UTC),
		})
	}
	return all, nil
}

func (m many) Template(_ context.Context, id string) (campaign.Template, error) {
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, "{{variavel_%d}}", i)
	}
	return campaign.Template{ID: id, Tenant: "t", Name: strings.Repeat("&", campaign.MaxTemplateName), Content: content.Content{Text: text.String()}}, nil
}

// shop is the dashboard of a tenant with many templates.
func shop(t *testing.T, all memory) webtest.Person {
	t.Helper()
	now := func() time.Time { return time.Date(2037, 11, 21, 15, 0, 0, 0, time.UTC) }
	pages := &sending.Pages{Store: many{all}, Now: now, Origin: origin}
	who := webtest.Serve(t, webtest.UI(t, now), sending.Area(), pages).SignIn("t", web.RoleAdmin)
	who.Language = "pt-BR"
	return who
}

func TestForm_ArchivedTemplates(t *testing.T) {
	t.Parallel()
	now := func() time.Time { return time.Date(2037, 11, 21, 15, 0, 0, 0, time.UTC) }
	pages := &sending.Pages{Store: archived{}, Now: now, Origin: origin}
	who := webtest.Serve(t, webtest.UI(t, now), sending.Area(), pages).SignIn("t", web.RoleAdmin)
	for path, offered := range map[string]bool{sending.Path: false, sending.Path + "?template=" + manyID(1): true} {
		if got := strings.Contains(who.Get(path).Body, `value="`+manyID(1)+`"`); got != offered {
			t.Errorf("%s: the archived template is offered: %t, want %t", path, got, offered)
		}
	}
}

// The form shows the selected template as a phone does. Another one replaces it, with its columns.
func TestForm_Preview(t *testing.T) {
	t.Parallel()
	now := func() time.Time { return time.Date(2037, 11, 21, 15, 0, 0, 0, time.UTC) }
	who := webtest.Serve(t, webtest.UI(t, now), sending.Area(), &sending.Pages{Store: archived{}, Now: now, Origin: origin}).SignIn("t", web.RoleAdmin)
	const shown, other = `<div class="bubble"><p>Texto de A para <span class="var">nome</span>`, `<div class="bubble"><p>Texto de B para <span class="var">nome</span>`
	form := who.Get(sending.Path)
	if !strings.Contains(form.Body, shown) || strings.Contains(form.Body, other) || strings.Contains(form.Body, "hx-swap-oob") {
		t.Errorf("the form shows\n%s", form.Body)
	}
	if strings.Index(form.Body, "</form>") > strings.Index(form.Body, `id="preview"`) {
		t.Error("the preview is not after the form")
	}
	columns := who.Get(sending.Path + "/columns?dark=1&template=" + manyID(1)).Body
	if !strings.Contains(columns, other) || !strings.Contains(columns, `<div id="preview" class="side" hx-swap-oob="true">`) || !strings.Contains(columns, `value="1" checked`) {
		t.Errorf("another template shows\n%s", columns)
	}
	if posted := who.Post(sending.Path+"/columns", url.Values{"template": {manyID(1)}}).Body; !strings.Contains(posted, other) {
		t.Errorf("without scripts, another template shows\n%s", posted)
	}
}

// The buttons of the form are its own: the lists beside it are links.
func TestForm_LinksToLists(t *testing.T) {
	t.Parallel()
	const links = `<a href="/dashboard/drafts">Rascunhos</a> <a href="/dashboard/submissions">Arquivos para revisar</a>`
	if page := shop(t, memory{}).Get(sending.Path).Body; !strings.Contains(page, links) || strings.Contains(page, `class="button`) {
		t.Errorf("the form leads to\n%s", page)
	}
}

// archived has an active and an archived template.
type archived struct{ memory }

func (archived) Templates(context.Context, string) ([]campaign.Template, error) {
	return []campaign.Template{{ID: manyID(0), Name: "A"}, {ID: manyID(1), Name: "B"}}, nil
}

func (archived) Template(_ context.Context, id string) (campaign.Template, error) {
	name := map[string]string{manyID(0): "A", manyID(1): "B"}[id]
	return campaign.Template{ID: id, Tenant: "t", Name: name, Content: content.Content{Text: "Texto de " + name + " para {{nome}}"}}, nil
}

func (archived) ArchivedTemplates(context.Context, string) (map[string]bool, error) {
	return map[string]bool{manyID(1): true}, nil
}

func TestForm_Templates(t *testing.T) {
	t.Parallel()
	who := shop(t, memory{})
	page := who.Get(sending.Path + "?template=" + manyID(0))
	if page.Status != http.StatusOK || len(page.Body) > web.HTMLLimit {
		t.Errorf("answers %d, %d bytes; want at most 28000", page.Status, len(page.Body))
	}
	if n := strings.Count(page.Body, "<option "); n != 50 {
		t.Errorf("offers %d templates, want 50", n)
	}
	for i, offered := range map[int]bool{0: true, 1: false, manyTemplates - 49: true, manyTemplates - 50: false, manyTemplates - 1: true} {
		if strings.Contains(page.Body, `value="`+manyID(i)+`"`) != offered {
			t.Errorf("template %d is offered: %t", i, !offered)
		}
	}
	if !strings.Contains(page.Body, manyID(0)+`" selected`) || !strings.Contains(page.Text(), "os 50 modelos mais recentes") {
		t.Errorf("the page does not say what to do: %s", page.Text())
	}
	if !strings.Contains(page.Text(), "variavel_0") || !strings.Contains(page.Text(), "estão no arquivo de exemplo") {
		t.Errorf("the columns: %s", page.Text())
	}
	long := who.Post(sending.Path+"/columns", url.Values{"template": {manyID(0)}, "name": {strings.Repeat("&", 1000)}})
	if len(long.Body) > web.HTMLLimit || !strings.Contains(long.Body, strings.Repeat("&amp;", 1000)) {
		t.Errorf("with a long name %d bytes; want at most 28000, and the name", len(long.Body))
	}
}

// origin is the origin of the bucket.
func origin(context.Context) (string, error) { return "https://bucket.example", nil }
