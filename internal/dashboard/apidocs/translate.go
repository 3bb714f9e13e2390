package apidocs

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"

	"campaign-dispatch/internal/campaign/pattern"
)

// english is the language of the OpenAPI document. Pages in any other language are in
// Portuguese.
const english = "en"

// portuguese maps English texts to Portuguese ones: those of the OpenAPI document, the
// formats of types and limits, and the comments of the first call.
//
//go:embed portuguese.json
var portuguese []byte

// translations returns the translations of English texts into a language.
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

// first is prose for the first paragraph.
func (d *document) first(text string) template.HTML { return d.render.firstParagraph(d.in(text)) }

var comment = pattern.AtFirstUse(`(?m)^(\s*(?:#|//) )(.+)$`)

// comments returns a program with its comments in the document's language.
func (d *document) comments(program string) string {
	return comment().ReplaceAllStringFunc(program, func(line string) string {
		parts := comment().FindStringSubmatch(line)
		return parts[1] + d.in(parts[2])
	})
}
