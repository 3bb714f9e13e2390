package preview

import (
	"strings"

	"campaign-dispatch/internal/campaign/content"
)

// Thumbnail is a small picture of a message.
type Thumbnail struct {
	URL   string // of its first image, "" for none
	Words string // its first words, without an image
}

const (
	maxThumbnailURL   = 300 // bytes: a list has many
	maxThumbnailWords = 60  // characters
)

// symbols stand for files without a picture, by kind.
var symbols = map[string]string{"video": "▶", "document": "PDF"}

// ThumbnailOf returns the thumbnail of a content. Variables appear by name.
func ThumbnailOf(c content.Content) Thumbnail {
	cards, text := []content.Card{}, c.Text
	switch {
	case c.Card != nil:
		cards = append(cards, *c.Card)
	case c.Carousel != nil:
		cards = c.Carousel.Cards
	case c.File != nil:
		kind, _ := kindOf(c.File.URL)
		cards = append(cards, content.Card{Title: symbols[kind], Media: &content.Media{URL: c.File.URL, ThumbnailURL: c.File.ThumbnailURL}})
	}
	for _, card := range cards {
		if text == "" {
			text = strings.TrimSpace(card.Title + " " + card.Description)
		}
		if card.Media != nil {
			if address := pictureOf(*card.Media); address != "" {
				return Thumbnail{URL: address}
			}
		}
	}
	return Thumbnail{Words: words(text)}
}

// pictureOf returns the URL of a picture of a media file, "" for none.
func pictureOf(m content.Media) string {
	for _, address := range []string{m.ThumbnailURL, m.URL} {
		if kind, _ := kindOf(address); kind == "image" && fixed(address) && len(address) <= maxThumbnailURL {
			return address
		}
	}
	return ""
}

func words(text string) string {
	var b strings.Builder
	for _, part := range partsOf(text) {
		b.WriteString(part.Text)
	}
	all := []rune(b.String())
	return string(all[:min(len(all), maxThumbnailWords)])
}
