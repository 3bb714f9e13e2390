// Package content describes what an RCS message shows: a text, a card, a carousel or a
// file, each with suggestions. It renders variables and checks the provider's limits.
package content

// Content is what a message or a template shows. Exactly one of Text, Card, Carousel and
// File is set. In a template, texts and URLs can contain {{variable}}, and URLs {{+variable}}.
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
	// ContentDescription is what screen readers say in place of the media.
	ContentDescription string `json:"contentDescription,omitempty"`
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

// Class is how the provider bills a delivered message in Brazil.
type Class string

// The billing classes.
const (
	Basic  Class = "basic"  // a text of at most BasicBytes bytes, without suggestions
	Single Class = "single" // everything else
)

// BasicBytes is the size of the longest basic message, in UTF-8 bytes. An accented letter has two.
const BasicBytes = 160

// Class returns the billing class of a rendered content.
func (c Content) Class() Class {
	if c.Card == nil && c.Carousel == nil && c.File == nil && len(c.Suggestions) == 0 && len(c.Text) <= BasicBytes {
		return Basic
	}
	return Single
}

// Classifier returns the billing class of a template's messages without rendering them.
type Classifier struct {
	single bool  // every message is single
	fixed  int   // bytes of the text without the variables
	uses   []int // how often each variable occurs, in the order of Variables
}

// Classifier returns the classifier of a template's content.
func (c Content) Classifier() Classifier {
	text := Content{Text: c.Text}
	c.Text = ""
	k := Classifier{single: c.Class() == Single}
	variables := text.Variables()
	names := NewNames(variables)
	k.uses = make([]int, len(variables))
	for part, variable := range Parts(text.Text) {
		if variable {
			k.uses[names.Index(part)]++
		} else {
			k.fixed += len(part)
		}
	}
	return k
}

// Fixed returns the class of all messages, or "" if it depends on the values.
func (k Classifier) Fixed() Class {
	switch {
	case k.single || k.fixed > BasicBytes:
		return Single
	case len(k.uses) == 0:
		return Basic
	}
	return ""
}

// Class returns the class of a message. sizes are the sizes of its values in bytes, in the order of Variables.
func (k Classifier) Class(sizes []int) Class {
	size := k.fixed
	for i, n := range k.uses {
		if i < len(sizes) {
			size += n * sizes[i]
		}
	}
	if k.single || size > BasicBytes {
		return Single
	}
	return Basic
}
