// Package preview describes how a message looks on a phone. phone.html, one of the
// ui's pages, shows it.
package preview

import (
	"slices"

	"campaign-dispatch/internal/campaign/content"
)

// Piece is a piece of a text: literal, or the name of a variable.
type Piece struct {
	Text     string
	Variable bool
}

// Phone is a message as a phone shows it. Variables appear by name.
type Phone struct {
	Label    string // alternative text of the picture
	Sender   Sender
	Words    Words
	Dark     bool // shown in dark colors first
	Text     []Piece
	Cards    []Card // the card, or the cards of a carousel
	Carousel bool
	Small    bool // a carousel of small cards
	File     *Media

	Suggestions []Suggestion // below the message
}

// Sender is who sends a message, or a company.
type Sender struct {
	Name     string
	Initials string // shown in place of a logo
	Logo     string // URL, "" for none
}

// Words are the preview's own words in the reader's language.
type Words struct {
	Dark, Carousel string
	Broken         string // shown in place of an image that does not load
}

// Card is a rich card.
type Card struct {
	Title       []Piece
	Description []Piece
	Media       *Media
	Side        string // "left" or "right": the media is beside the text
	Suggestions []Suggestion
}

// Media is an image, a video or a document.
type Media struct {
	Kind   string // "image", "video" or "document"
	URL    string // of an image that a browser can show, "" for none
	Name   string // file name, of a document
	Word   string // what it is, in the reader's language
	Text   string // what screen readers say of it, "" for Word
	Height content.Height
}

// Suggestion is a reply or an action.
type Suggestion struct {
	Kind content.Kind
	Word string // what a tap does, in the reader's language; "" for a reply
	Text []Piece
	Note *Note // nil for none
}

// Note is what the preview shows on a suggestion beside its text.
type Note struct {
	Number int // of the suggestion, from 1; see content.AllSuggestions
	Text   string
}

// Writer writes previews.
type Writer struct {
	Word func(key string) string // the text of a key that begins with "phone."
	// Text and URL return what is shown of a text and of a URL. The buttons below a message come before its cards.
	Text, URL func(string) string
}

// Phone returns the preview of a content.
func (w Writer) Phone(c content.Content, label string) Phone {
	phone := Phone{
		Label: label, Words: Words{w.Word("phone.dark"), w.Word("phone.carousel"), w.Word("phone.broken")},
		Text: w.pieces(c.Text), Suggestions: w.Suggestions(c.Suggestions),
	}
	switch {
	case c.Card != nil:
		phone.Cards = []Card{w.card(*c.Card)}
	case c.Carousel != nil:
		phone.Carousel, phone.Small = true, c.Carousel.Width == content.SmallWidth
		for _, card := range c.Carousel.Cards {
			phone.Cards = append(phone.Cards, w.card(card))
		}
	case c.File != nil:
		phone.File = w.media(c.File.URL, c.File.ThumbnailURL, content.Medium)
	}
	return phone
}

// Annotate shows a text on each suggestion, by its number.
func (p Phone) Annotate(texts func(suggestion int) string) {
	n := 0
	annotate := func(all []Suggestion) {
		for i := range all {
			n++
			all[i].Note = &Note{n, texts(n)}
		}
	}
	for _, c := range p.Cards {
		annotate(c.Suggestions)
	}
	annotate(p.Suggestions)
}

// Empty reports whether there is nothing to show.
func (p Phone) Empty() bool {
	shown := slices.ContainsFunc(p.Cards, func(c Card) bool { return !c.empty() })
	return !shown && len(p.Text)+len(p.Suggestions) == 0 && p.File == nil
}

func (c Card) empty() bool {
	return len(c.Title)+len(c.Description)+len(c.Suggestions) == 0 && c.Media == nil
}

func (w Writer) card(c content.Card) Card {
	card := Card{Title: w.pieces(c.Title), Suggestions: w.Suggestions(c.Suggestions), Description: w.pieces(c.Description)}
	if c.Media != nil {
		card.Media = w.media(c.Media.URL, c.Media.ThumbnailURL, c.Media.Height)
		if text := w.Text(c.Media.ContentDescription); card.Media != nil {
			card.Media.Text = text
		}
	}
	if c.Horizontal && card.Media != nil {
		card.Side = "left"
		if c.MediaRight {
			card.Side = "right"
		}
	}
	return card
}

// Suggestions returns the preview of suggestions.
func (w Writer) Suggestions(all []content.Suggestion) (shown []Suggestion) {
	for _, s := range all {
		next := Suggestion{Kind: s.Kind, Text: w.pieces(s.Text)}
		if s.Kind != content.Reply {
			next.Word = w.Word("phone." + string(s.Kind))
		}
		shown = append(shown, next)
	}
	return shown
}

// media returns the preview of a file, or nil without a URL. A thumbnail stands for a
// video or a document.
func (w Writer) media(address, thumbnail string, height content.Height) *Media {
	address, thumbnail = w.URL(address), w.URL(thumbnail)
	if address == "" {
		return nil
	}
	kind, name := content.FileKind(address)
	m := &Media{Kind: kind, Word: w.Word("phone." + kind), Height: height}
	switch {
	case kind == "image" && content.Fixed(address):
		m.URL = address
	case content.Fixed(thumbnail):
		m.URL = thumbnail
	}
	if kind == "document" {
		m.Name = name
	}
	return m
}

func (w Writer) pieces(text string) (all []Piece) {
	for piece, variable := range content.Parts(w.Text(text)) {
		all = append(all, Piece{piece, variable})
	}
	return all
}
