package web

import (
	"strings"

	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dashboard/preview"
)

// MarkWeight is the size in bytes of a variable's markup.
const MarkWeight = len(`<span class="var"></span> `)

// mediaWeight is the maximum size in bytes of a picture's URL.
const mediaWeight = 2000

// Phone returns the preview of a template, with its texts cut to most bytes in a page.
func Phone(t content.Content, label string, most int) (phone preview.Phone, cut bool) {
	c := cutter{left: most}
	shown := content.Content{Text: c.cut(t.Text)}
	if t.Card != nil {
		card := content.Card{Media: t.Card.Media}
		card.Title = c.cut(t.Card.Title)
		for _, reply := range t.Card.Suggestions {
			card.Suggestions = append(card.Suggestions, content.Suggestion{Kind: reply.Kind, Text: c.cut(reply.Text)})
		}
		card.Description = c.cut(t.Card.Description)
		shown.Card = &card
	}
	phone = preview.Of(shown, label)
	if Weight(phone.MediaURL) > mediaWeight {
		phone.MediaURL = "" // shown as a placeholder
	}
	return phone, c.did
}

// cutter cuts texts to a total size.
type cutter struct {
	left int
	did  bool
}

func (c *cutter) cut(text string) string {
	var b strings.Builder
	for part, variable := range content.Parts(text) {
		weight := Weight(part)
		if variable {
			weight, part = weight+MarkWeight, "{{"+part+"}}"
		}
		if weight > c.left {
			c.did = true
			if variable {
				part = "…"
			}
			b.WriteString(Short(part, max(c.left, len("…"))))
			c.left = 0
			break
		}
		c.left -= weight
		b.WriteString(part)
	}
	return b.String()
}
