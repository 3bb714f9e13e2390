package apidocs

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"strings"
	"sync"

	"campaign-dispatch/internal/campaign/pattern"
)

//go:generate go run campaign-dispatch/localstack/tools/prose ../../..

// rendered maps the Markdown texts of the documentation to HTML. It is made before the
// build: a library of Markdown would add to the start of each process.
//
//go:embed prose.json
var rendered []byte

var htmlOf = sync.OnceValue(func() (texts map[string]string) {
	if err := json.Unmarshal(rendered, &texts); err != nil {
		panic(err) // the file is embedded in the binary
	}
	return texts
})

func lookUp(markdown string) string {
	text, ok := htmlOf()[markdown]
	if !ok {
		panic("apidocs: prose.json is older than the documentation: run go generate ./internal/dashboard/apidocs")
	}
	return text
}

// Prose returns the Markdown texts of the documentation in all languages, with the HTML
// that render returns for each. The HTML must be safe.
func Prose(base string, render func(markdown string) string) (map[string]string, error) {
	texts := map[string]string{}
	recorded := func(markdown string) string {
		texts[markdown] = render(markdown)
		return texts[markdown]
	}
	for _, language := range []string{english, "pt"} {
		if _, err := newDocumentation(base, language, recorded); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// renderer converts Markdown to safe HTML.
type renderer func(markdown string) string

// scrolling lets wide tables and code scroll, also by keyboard.
var scrolling = strings.NewReplacer(
	"<pre>", `<pre tabindex="0">`,
	"<table>", `<div class="scroll" tabindex="0"><table>`,
	"</table>", "</table></div>",
)

// prose converts a text of the OpenAPI document or of the guides to HTML.
func (r renderer) prose(text string) template.HTML {
	return template.HTML(scrolling.Replace(r(text))) //nolint:gosec // a renderer returns safe HTML
}

// firstParagraph returns the first paragraph, for tables.
func (r renderer) firstParagraph(text string) template.HTML {
	first, rest, _ := strings.Cut(text, "\n\n")
	if rest != "" {
		first = strings.TrimRight(first, ":.") + "."
	}
	inner := strings.TrimPrefix(strings.TrimSuffix(r(first), "</p>\n"), "<p>")
	return template.HTML(inner) //nolint:gosec // a renderer returns safe HTML
}

// english is the language of the OpenAPI document. Pages in any other language are in
// Portuguese.
const english = "en"

// portuguese maps English texts to Portuguese ones: those of the OpenAPI document, the
// formats of types and limits, and the comments of the first call.
//
//go:embed portuguese.json
var portuguese []byte

func translations(language string) (texts map[string]string, err error) {
	if language == english {
		return nil, nil
	}
	if err := json.Unmarshal(portuguese, &texts); err != nil {
		return nil, fmt.Errorf("read the translations: %w", err)
	}
	return texts, nil
}

// in returns an English text in the document's language.
func (d *document) in(text string) string {
	if translated := d.translations[text]; translated != "" {
		return translated
	}
	return text
}

// prose converts an English text in the document's language.
func (d *document) prose(text string) template.HTML { return d.render.prose(d.in(text)) }

// firstParagraph is prose for the first paragraph.
func (d *document) firstParagraph(text string) template.HTML {
	return d.render.firstParagraph(d.in(text))
}

var comment = pattern.AtFirstUse(`(?m)^(\s*(?:#|//) )(.+)$`)

// comments returns a program with its comments in the document's language.
func (d *document) comments(program string) string {
	return comment().ReplaceAllStringFunc(program, func(line string) string {
		parts := comment().FindStringSubmatch(line)
		return parts[1] + d.in(parts[2])
	})
}
