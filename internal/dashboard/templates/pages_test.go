package templates_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/dispatch"
)

const list = "/dashboard/templates"

// keep saves a template or a new version. It returns what it saved.
func (b *bench) keep(t campaign.Template) campaign.Template {
	b.t.Helper()
	t.Tenant = b.tenant
	saved, err := b.store.PutTemplate(b.t.Context(), t)
	if err != nil {
		b.t.Fatal(err)
	}
	return saved
}

func templateID(i int) string {
	return fmt.Sprintf("5b0e6d3c-0000-4000-8000-%012x", uint64(time.Now().UnixNano())&0xffffffffff00+uint64(i))
}

func TestList_Pages(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const all = 60
	for i := range all {
		b.keep(campaign.Template{
			ID: templateID(i), Name: fmt.Sprintf("%02d", i) + strings.Repeat("&", campaign.MaxTemplateName-2), Content: content.Content{Card: &content.Card{Title: "t"}},
		})
	}
	path := list
	for shown := 0; path != ""; {
		page := webtest.Light(t, b.admin, path)
		rows := strings.Count(page.Body, `<td class="wrap lead">`)
		if !strings.Contains(page.Body, fmt.Sprintf(">%02d&amp;", shown)) {
			t.Errorf("%s does not go on with template %d", path, shown)
		}
		if shown, path = shown+rows, page.Next(); path == "" && shown != all {
			t.Errorf("shows %d templates, want %d", shown, all)
		}
	}
}

// The provider's greatest lengths, in characters of four bytes.
func largest() map[string]campaign.Template {
	name := strings.Repeat("&", campaign.MaxTemplateName)
	var fields strings.Builder
	for i := range 20 {
		fmt.Fprintf(&fields, "{{nome_do_cliente_%02d}} ", i)
	}
	fill := func(n int) string { return strings.Repeat("😀", n) }
	card := content.Card{
		Title: fill(content.MaxTitle), Description: fields.String() + fill(content.MaxDescription-20),
		Media: &content.Media{URL: "https://e.example/" + strings.Repeat("a", content.MaxURL-18)},
	}
	for range content.MaxCardSuggestions {
		card.Suggestions = append(card.Suggestions, content.Replies(strings.Repeat("&", content.MaxSuggestion))...)
	}
	return map[string]campaign.Template{
		"carousel":       {Name: name, Content: carousel(card)},
		"text":           {Name: name, Content: content.Content{Text: fields.String() + fill(content.MaxText-20), Suggestions: links(content.MaxSuggestions)}},
		"card":           {Name: name, Content: content.Content{Card: &card, Suggestions: links(content.MaxSuggestions)}},
		"variables":      {Name: name, Content: content.Content{Text: fields.String() + strings.Repeat("{{a}}", (2*content.MaxText-fields.Len())/5)}},
		"many variables": {Name: name, Content: content.Content{Text: manyVariables(campaign.MaxTemplateVariables)}},
	}
}

// links returns suggestions with texts and URLs of the greatest length.
func links(n int) (all []content.Suggestion) {
	for range n {
		all = append(all, content.Suggestion{
			Kind: content.OpenURL, Text: strings.Repeat("&", content.MaxSuggestion), URL: "https://e.example/" + strings.Repeat("a", content.MaxURL-18),
		})
	}
	return all
}

// carousel returns a carousel with the most cards and suggestions.
func carousel(card content.Card) content.Content {
	card.Suggestions = links(content.MaxCardSuggestions)
	return content.Content{Carousel: &content.Carousel{Cards: slices.Repeat([]content.Card{card}, content.MaxCards)}, Suggestions: links(content.MaxSuggestions)}
}

func manyVariables(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "{{v%d}}", i)
	}
	return text.String()
}

func TestPage_Size(t *testing.T) {
	t.Parallel()
	for name, largest := range largest() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			largest.ID = templateID(0)
			if flaws := largest.Flaws(); len(flaws) > 0 {
				t.Fatalf("the form does not admit it: %v", flaws)
			}
			for range 12 {
				b.keep(largest)
				largest.Name = strings.Repeat("<", campaign.MaxTemplateName)
			}
			one := list + "/" + largest.ID
			for n := 1; n <= 12; n++ {
				webtest.Light(t, b.admin, fmt.Sprint(one, "/versions/", n))
			}
			var versions, pages int
			for path := one; path != ""; pages++ {
				page := webtest.Light(t, b.admin, path)
				versions += strings.Count(page.Body, `<li><a href="`+one+`/versions/`)
				path = page.Next()
			}
			if versions != 12 || pages != 3 {
				t.Errorf("%d versions on %d pages, want 12 on 3", versions, pages)
			}
			webtest.Light(t, b.admin, one+"/edit")
		})
	}
}

// A template can have 1,000 versions of up to 256 KiB: a page reads only those that it shows.
func TestPage_ReadsWhatItShows(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	large := largest()["carousel"]
	large.ID = templateID(0)
	path := list + "/" + large.ID
	keep := func(versions int) {
		for range versions {
			b.keep(large)
		}
	}
	read := func(from string) int64 {
		before := b.tables.bytes.Load()
		contains(t, b.admin.Get(path+from), http.StatusOK)
		return b.tables.bytes.Load() - before
	}
	keep(5)
	most := read("") * 11 / 10
	keep(15)
	for _, from := range []string{"", "?from=5", "?from=15"} {
		if n := read(from); n > most {
			t.Errorf("%s of 20 versions reads %d bytes, that of 5 %d", from, n, most)
		}
	}
}

func TestVersion_Whole(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	text := strings.Repeat("Olá, você já viu? ", 160) + "{{nome}} até o fim"
	path := b.create(textForm("Pedido", text))
	form := textForm("Outro", "Novo texto")
	form.Set("once", b.admin.Get(path+"/edit").Value("once"))
	b.admin.Post(path, form)
	viewer := b.SignIn(b.tenant, "viewer")
	contains(t, viewer.Get(path+"/versions/1"), http.StatusOK, "Version 1", "Pedido", "até o fim", `<span class="var">nome</span>`)
	contains(t, viewer.Get(path+"/versions/2"), http.StatusOK, "Novo texto", "Current")
	for _, none := range []string{"3", "0", "-1", "x"} {
		contains(t, viewer.Get(path+"/versions/"+none), http.StatusNotFound)
	}
	contains(t, b.SignIn("another", "admin").Get(path+"/versions/1"), http.StatusNotFound)
}

// Pages that show a template load its image from any host.
func TestPage_Images(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.create(url.Values{"name": {"n"}, "kind": {"card"}, "card-title": {"t"}, "card-media": {"https://e.example/a.png"}})
	for _, page := range []string{path, path + "/versions/1", path + "/edit"} {
		answer := b.admin.Get(page)
		contains(t, answer, http.StatusOK, `src="https://e.example/a.png"`)
		if policy := answer.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "img-src 'self' https:") {
			t.Errorf("%s may not load it: %s", page, policy)
		}
	}
}

func TestTestSend_TooManyVariables(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	few := b.create(textForm("n", manyVariables(20)))
	contains(t, b.admin.Get(few), http.StatusOK, `name="var.v19"`)
	long := strings.ReplaceAll(manyVariables(campaign.MaxTemplateVariables), "{{v", "{{"+strings.Repeat("v", 100))
	many := b.create(textForm("n", long))
	page := b.admin.Get(many)
	contains(t, page, http.StatusOK, "too many variables to fill in here", "more</span>")
	if strings.Contains(page.Body, `name="var.v`) {
		t.Error("there are fields for some of the variables")
	}
}

func TestTestSend_RefusalSize(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.calls.verdict = dispatch.Verdict{Faults: []dispatch.Fault{{Message: -1, Code: "new_code", Detail: "no"}}}
	path := b.create(textForm("n", manyVariables(20)))
	form := url.Values{"phone": {strings.Repeat("1", 100_000)}, "once": {"x"}}
	for i := range 20 {
		form.Set(fmt.Sprintf("var.v%d", i), strings.Repeat("&", 1000))
	}
	if page := b.admin.Post(path+"/test", form); page.Status != http.StatusUnprocessableEntity || len(page.Body) > web.HTMLLimit {
		t.Errorf("answers %d, %d bytes; want at most 28000", page.Status, len(page.Body))
	}
}
