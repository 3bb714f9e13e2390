package apidocs

import (
	"bytes"
	"html/template"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
)

// markdown returns the renderer of the descriptions: CommonMark and tables. It omits HTML.
var markdown = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(goldmark.WithExtensions(extension.Table))
})

// scrolling lets a wide table scroll on a narrow screen.
var scrolling = strings.NewReplacer(
	"<table>", `<div class="scroll" tabindex="0"><table>`,
	"</table>", "</table></div>",
)

// prose converts the Markdown of the OpenAPI document to HTML.
func prose(text string) template.HTML {
	return template.HTML(scrolling.Replace(render(text))) //nolint:gosec // goldmark escapes the text
}

// firstParagraph returns the first paragraph, for tables.
func firstParagraph(text string) template.HTML {
	first, rest, _ := strings.Cut(text, "\n\n")
	if rest != "" {
		first = strings.TrimRight(first, ":.") + "."
	}
	inner := strings.TrimPrefix(strings.TrimSuffix(render(first), "</p>\n"), "<p>")
	return template.HTML(inner) //nolint:gosec // goldmark escapes the text
}

func render(text string) string {
	var out bytes.Buffer
	if err := markdown().Convert([]byte(text), &out); err != nil {
		panic(err) // writing to a buffer does not fail
	}
	return out.String()
}
