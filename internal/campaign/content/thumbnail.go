package content

import (
	"net/url"
	"path"
	"strings"
)

// Thumbnail is a small picture of a content.
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

// Thumbnail returns the thumbnail of the content. Variables appear by name.
func (c Content) Thumbnail() Thumbnail {
	cards, text := []Card{}, c.Text
	switch {
	case c.Card != nil:
		cards = append(cards, *c.Card)
	case c.Carousel != nil:
		cards = c.Carousel.Cards
	case c.File != nil:
		kind, _ := FileKind(c.File.URL)
		cards = append(cards, Card{Title: symbols[kind], Media: &Media{URL: c.File.URL, ThumbnailURL: c.File.ThumbnailURL}})
	}
	for _, card := range cards {
		if text == "" {
			text = strings.TrimSpace(card.Title + " " + card.Description)
		}
		if card.Media != nil {
			if address := card.Media.picture(); address != "" {
				return Thumbnail{URL: address}
			}
		}
	}
	return Thumbnail{Words: words(text)}
}

// picture returns the URL of a picture of a media file, "" for none.
func (m Media) picture() string {
	for _, address := range []string{m.ThumbnailURL, m.URL} {
		if kind, _ := FileKind(address); kind == "image" && Fixed(address) && len(address) <= maxThumbnailURL {
			return address
		}
	}
	return ""
}

func words(text string) string {
	var b strings.Builder
	for part := range Parts(text) {
		b.WriteString(part)
	}
	all := []rune(b.String())
	return string(all[:min(len(all), maxThumbnailWords)])
}

// FileKind returns the kind of a file by the extension of its name ("image", "video" or "document"), and the name.
func FileKind(address string) (kind, name string) {
	if u, err := url.Parse(address); err == nil {
		name = path.Base(u.Path)
	}
	switch strings.ToLower(path.Ext(name)) {
	case ".mp4", ".m4v", ".mpg", ".mpeg", ".webm", ".3gp":
		return "video", name
	case ".pdf":
		return "document", name
	}
	return "image", name
}

// Fixed reports whether messages can show a URL that contains no variable. A variable without a value is
// still part of a rendered URL, with its braces escaped.
func Fixed(address string) bool {
	return ValidURL(address) && !strings.Contains(address, "{{") && !strings.Contains(address, "%7B%7B")
}
