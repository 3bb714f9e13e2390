package content

import "iter"

// Part names a field of a content, for errors.
type Part string

// The parts of a content.
const (
	PartContent       Part = "content" // all of it together
	PartText          Part = "text"
	PartCard          Part = "card"
	PartCards         Part = "cards"
	PartTitle         Part = "title"
	PartDescription   Part = "description"
	PartMedia         Part = "media"
	PartThumbnail     Part = "thumbnail"
	PartMediaText     Part = "mediaText" // what screen readers say
	PartHeight        Part = "height"
	PartWidth         Part = "width"
	PartFile          Part = "file"
	PartSuggestion    Part = "suggestion"
	PartURL           Part = "url"
	PartWebview       Part = "webview"
	PartPhone         Part = "phone"
	PartLocation      Part = "location"
	PartLabel         Part = "label"
	PartQuery         Part = "query"
	PartEvent         Part = "event"
	PartEventTitle    Part = "eventTitle"
	PartEventText     Part = "eventDescription"
	PartEventDuration Part = "eventDuration"
)

// Place is the position of a field: the card of a carousel and the suggestion, each counted from 1, or 0.
type Place struct{ Card, Suggestion int }

// field is a text or a URL of a content.
type field struct {
	Place

	part  Part
	value *string
	most  int // characters
	url   bool
}

// fields yields the fields in a fixed order. Variables are numbered in this order.
func (c *Content) fields() iter.Seq[field] {
	return func(yield func(field) bool) {
		_ = yield(field{part: PartText, value: &c.Text, most: MaxText}) &&
			(c.Card == nil || c.Card.fields(0, yield)) &&
			(c.Carousel == nil || c.Carousel.fields(yield)) &&
			(c.File == nil || c.File.fields(yield)) &&
			suggestionFields(0, c.Suggestions, yield)
	}
}

// MediaURL is the URL of a media, a thumbnail or a file, with its place.
type MediaURL struct {
	Place

	Part Part
	URL  string
}

// MediaURLs yields the URLs of the media, the thumbnails and the file.
func (c Content) MediaURLs() iter.Seq[MediaURL] {
	return func(yield func(MediaURL) bool) {
		for f := range c.fields() {
			if f.media() && *f.value != "" && !yield(MediaURL{f.Place, f.part, *f.value}) {
				return
			}
		}
	}
}

// HasMedia reports whether the content has a media, a thumbnail or a file.
func (c Content) HasMedia() bool {
	for range c.MediaURLs() {
		return true
	}
	return false
}

func (f field) media() bool {
	return f.part == PartMedia || f.part == PartThumbnail || f.part == PartFile
}

func (c *Carousel) fields(yield func(field) bool) bool {
	for i := range c.Cards {
		if !c.Cards[i].fields(i+1, yield) {
			return false
		}
	}
	return true
}

func (f *File) fields(yield func(field) bool) bool {
	return yield(field{part: PartFile, value: &f.URL, most: MaxURL, url: true}) &&
		yield(field{part: PartThumbnail, value: &f.ThumbnailURL, most: MaxURL, url: true})
}

func (c *Card) fields(n int, yield func(field) bool) bool {
	at := Place{Card: n}
	return yield(field{Place: at, part: PartTitle, value: &c.Title, most: MaxTitle}) &&
		yield(field{Place: at, part: PartDescription, value: &c.Description, most: MaxDescription}) &&
		(c.Media == nil || c.Media.fields(at, yield)) &&
		suggestionFields(n, c.Suggestions, yield)
}

func (m *Media) fields(at Place, yield func(field) bool) bool {
	return yield(field{Place: at, part: PartMedia, value: &m.URL, most: MaxURL, url: true}) &&
		yield(field{Place: at, part: PartThumbnail, value: &m.ThumbnailURL, most: MaxURL, url: true}) &&
		yield(field{Place: at, part: PartMediaText, value: &m.ContentDescription, most: MaxMediaText})
}

func suggestionFields(card int, all []Suggestion, yield func(field) bool) bool {
	for i := range all {
		if !all[i].fields(Place{card, i + 1}, yield) {
			return false
		}
	}
	return true
}

func (s *Suggestion) fields(at Place, yield func(field) bool) bool {
	return yield(field{Place: at, part: PartSuggestion, value: &s.Text, most: MaxSuggestion}) &&
		yield(field{Place: at, part: PartURL, value: &s.URL, most: MaxURL, url: true}) &&
		(s.Location == nil || s.Location.fields(at, yield)) &&
		(s.Event == nil || s.Event.fields(at, yield))
}

func (l *Location) fields(at Place, yield func(field) bool) bool {
	return yield(field{Place: at, part: PartLabel, value: &l.Label, most: MaxLabel}) &&
		yield(field{Place: at, part: PartQuery, value: &l.Query, most: MaxLabel})
}

func (e *Event) fields(at Place, yield func(field) bool) bool {
	return yield(field{Place: at, part: PartEventTitle, value: &e.Title, most: MaxEventTitle}) &&
		yield(field{Place: at, part: PartEventText, value: &e.Description, most: MaxEventText})
}
