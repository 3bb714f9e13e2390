// Package content describes what an RCS message shows: a text, a card, a carousel or a
// file, each with suggestions. It renders variables and checks the provider's limits.
package content

// Content is what a message or a template shows. Exactly one of Text, Card, Carousel and
// File is set. In a template, texts and URLs can contain {{variable}}.
type Content struct {
	Text        string       `json:"text,omitempty"`
	Card        *Card        `json:"card,omitempty"`
	Carousel    *Carousel    `json:"carousel,omitempty"`
	File        *File        `json:"file,omitempty"`
	Suggestions []Suggestion `json:"suggestions,omitempty"` // shown below the message
}

// Card is a rich card.
type Card struct {
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Media       *Media `json:"media,omitempty"`
	// Horizontal places the media beside the text. MediaRight then places it on the right.
	Horizontal  bool         `json:"horizontal,omitempty"`
	MediaRight  bool         `json:"mediaRight,omitempty"`
	Suggestions []Suggestion `json:"suggestions,omitempty"`
}

// Media is the image or the video of a card.
type Media struct {
	URL          string `json:"url"`
	ThumbnailURL string `json:"thumbnailUrl,omitempty"`
	Height       Height `json:"height,omitempty"` // "" is medium
}

// Height is the height of a card's media.
type Height string

// The media heights.
const (
	Short  Height = "short"
	Medium Height = "medium"
	Tall   Height = "tall"
)

// Carousel is a row of cards of one width. The media of all cards have one height.
type Carousel struct {
	Width Width  `json:"width,omitempty"` // "" is medium
	Cards []Card `json:"cards"`
}

// Width is the width of a carousel's cards.
type Width string

// The card widths.
const (
	SmallWidth  Width = "small"
	MediumWidth Width = "medium"
)

// File is a message that consists of an image, a video or a PDF document.
type File struct {
	URL          string `json:"url"`
	ThumbnailURL string `json:"thumbnailUrl,omitempty"`
}

// clone returns a deep copy.
func (c Content) clone() Content {
	if c.Card != nil {
		card := c.Card.clone()
		c.Card = &card
	}
	if c.Carousel != nil {
		carousel := Carousel{Width: c.Carousel.Width, Cards: make([]Card, len(c.Carousel.Cards))}
		for i, card := range c.Carousel.Cards {
			carousel.Cards[i] = card.clone()
		}
		c.Carousel = &carousel
	}
	if c.File != nil {
		file := *c.File
		c.File = &file
	}
	c.Suggestions = cloneSuggestions(c.Suggestions)
	return c
}

func (c Card) clone() Card {
	if c.Media != nil {
		media := *c.Media
		c.Media = &media
	}
	c.Suggestions = cloneSuggestions(c.Suggestions)
	return c
}
