package apidocs_test

import (
	"encoding/json"
	"html"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/docs"
	"campaign-dispatch/internal/dashboard/apidocs"
	"campaign-dispatch/internal/httpapi/openapi"
)

// translations returns the Portuguese texts by the English ones.
func translations(t *testing.T) (texts map[string]string) {
	t.Helper()
	file, err := os.ReadFile("portuguese.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(file, &texts); err != nil {
		t.Fatal(err)
	}
	return texts
}

// described returns the descriptions and summaries of the OpenAPI document.
func described(t *testing.T) map[string]bool {
	t.Helper()
	text, err := openapi.Document(base)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	texts := map[string]bool{}
	collect(tree, texts)
	return texts
}

func collect(value any, texts map[string]bool) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			collect(item, texts)
		}
	case map[string]any:
		for name, item := range v {
			if text, ok := item.(string); ok && (name == "description" || name == "summary") {
				texts[text] = true
			}
			collect(item, texts)
		}
	}
}

var (
	tags = regexp.MustCompile(`<[^>]*>`)
	// marks are the marks of Markdown, which a page does not show.
	marks = strings.NewReplacer("`", "", "*", "")
)

// plain returns the text of a page without elements and white space.
func plain(page string) string {
	return strings.Join(strings.Fields(html.UnescapeString(tags.ReplaceAllString(page, " "))), "")
}

// opening returns the first line of a text as plain does.
func opening(text string) string {
	line, _, _ := strings.Cut(marks.Replace(text), "\n")
	return strings.Join(strings.Fields(line), "")
}

// A short text, such as "Accepted", can be a part of another one.
const recognizable = 25

func TestPages_PortugueseHasNoEnglish(t *testing.T) {
	t.Parallel()
	h, texts := handler(t), described(t)
	for _, path := range pages(t) {
		_, body := get(t, h, path, "pt-BR")
		body = plain(body)
		for text := range texts {
			if first := opening(text); len(first) >= recognizable && strings.Contains(body, first) {
				t.Errorf("%s in Portuguese shows %q", path, text)
			}
		}
	}
}

// Each translation is on a page, and its English text on the same pages in English.
func TestTranslations_AreUsed(t *testing.T) {
	t.Parallel()
	english, portuguese := everyPage(t, "en"), everyPage(t, "pt-BR")
	for text, translated := range translations(t) {
		if strings.Contains(text, "%") {
			continue // a format
		}
		if !strings.Contains(english, opening(text)) {
			t.Errorf("no page in English shows %q", text)
		}
		if !strings.Contains(portuguese, opening(translated)) {
			t.Errorf("no page in Portuguese shows %q", translated)
		}
	}
}

// everyPage returns the plain text of all pages.
func everyPage(t *testing.T, language string) string {
	t.Helper()
	h := handler(t)
	var all strings.Builder
	for _, path := range pages(t) {
		_, body := get(t, h, path, language)
		all.WriteString(plain(body))
	}
	return all.String()
}

var codeSpan = regexp.MustCompile("`[^`]+`")

// A translation names the same fields, codes and values.
func TestTranslations_KeepCodes(t *testing.T) {
	t.Parallel()
	for text, translated := range translations(t) {
		if diff := cmp.Diff(counts(codeSpan.FindAllString(text, -1)), counts(codeSpan.FindAllString(translated, -1))); diff != "" {
			t.Errorf("%.60s: %s", text, diff)
		}
	}
}

func counts(words []string) map[string]int {
	all := map[string]int{}
	for _, w := range words {
		all[w]++
	}
	return all
}

var fence = regexp.MustCompile("(?s)```.*?```")

// The guides have the same code and the same codes in both languages, section by
// section.
func TestGuides_SameInBothLanguages(t *testing.T) {
	t.Parallel()
	english, portuguese := strings.Split(docs.EnglishGuides, "\n## "), strings.Split(docs.PortugueseGuides, "\n## ")
	if len(english) != len(portuguese) {
		t.Fatalf("%d sections in English, %d in Portuguese", len(english), len(portuguese))
	}
	for i := range english {
		if diff := cmp.Diff(fence.FindAllString(english[i], -1), fence.FindAllString(portuguese[i], -1)); diff != "" {
			t.Error(diff)
		}
		one, other := fence.ReplaceAllString(english[i], ""), fence.ReplaceAllString(portuguese[i], "")
		if diff := cmp.Diff(counts(codeSpan.FindAllString(one, -1)), counts(codeSpan.FindAllString(other, -1))); diff != "" {
			t.Errorf("%.40s: %s", english[i], diff)
		}
	}
}

var (
	navigation = regexp.MustCompile(`(?s)<nav class="docs-nav".*?</nav>`)
	reference  = regexp.MustCompile(`href="([^"]+)"`)
)

// Every guide is a page that the navigation links to. Its links lead to pages.
func TestGuides_Links(t *testing.T) {
	t.Parallel()
	h := handler(t)
	for _, language := range []string{"pt-BR", "en"} {
		_, start := get(t, h, apidocs.Root, language)
		nav := navigation.FindString(start)
		for _, id := range guides {
			if !strings.Contains(nav, `href="`+apidocs.Root+"/"+id+`"`) {
				t.Errorf("the navigation has no %s in %s", id, language)
			}
			_, body := get(t, h, apidocs.Root+"/"+id, language)
			for _, link := range reference.FindAllStringSubmatch(body, -1) {
				checkLink(t, h, id, language, link[1])
			}
		}
	}
}

// checkLink reports a link to a page that does not exist.
func checkLink(t *testing.T, h http.Handler, id, language, link string) {
	t.Helper()
	path, _, _ := strings.Cut(link, "#")
	if strings.Contains(path, ".md") {
		t.Errorf("%s in %s links to %s", id, language, link)
	}
	if !strings.HasPrefix(path, apidocs.Root) {
		return
	}
	if status, _ := get(t, h, path, language); status != http.StatusOK {
		t.Errorf("%s in %s links to %s: status %d", id, language, link, status)
	}
}

func TestGuides_InTheReadersLanguage(t *testing.T) {
	t.Parallel()
	h := handler(t)
	for language, want := range map[string]string{
		"pt-BR": `<h1>Testar falhas na sandbox</h1>`, "en": `<h1>Test failures in the sandbox</h1>`,
	} {
		if _, body := get(t, h, apidocs.Root+"/test-failures-in-the-sandbox", language); !strings.Contains(body, want) {
			t.Errorf("no %s", want)
		}
	}
}
