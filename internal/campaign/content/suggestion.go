package content

import (
	"encoding/json"
	"slices"
	"time"
)

// Kind is what a tap on a suggestion does.
type Kind string

// The kinds of suggestions.
const (
	Reply           Kind = "reply"           // sends the text as a reply
	OpenURL         Kind = "openUrl"         // opens URL
	Dial            Kind = "dial"            // dials Phone
	ShowLocation    Kind = "showLocation"    // opens a map
	RequestLocation Kind = "requestLocation" // asks for the recipient's location
	CalendarEvent   Kind = "calendarEvent"   // adds an event to the calendar
)

// Suggestion is a reply or an action that a recipient can tap. Fields of other kinds are empty.
type Suggestion struct {
	Kind Kind   `json:"kind"`
	Text string `json:"text"`

	URL     string  `json:"url,omitempty"`
	Webview Webview `json:"webview,omitempty"` // "" is the browser
	// CountClicks sends a short link to this service, which counts the click and redirects to URL.
	CountClicks bool `json:"countClicks,omitempty"`

	Phone string `json:"phone,omitempty"` // E.164, with the leading +

	Location *Location `json:"location,omitempty"`
	Event    *Event    `json:"event,omitempty"`
}

// Webview is the size of the view that opens a URL within the messaging app.
type Webview string

// The webview sizes.
const (
	FullWebview Webview = "full"
	HalfWebview Webview = "half"
	TallWebview Webview = "tall"
)

// Location is a place: a point with a label, or the result of a search near the recipient.
type Location struct {
	Latitude  float64 `json:"latitude,omitempty" with:"longitude"` // a body with one of them needs both
	Longitude float64 `json:"longitude,omitempty" with:"latitude"`
	Label     string  `json:"label,omitempty"`
	Query     string  `json:"query,omitempty"`
}

// Event is an entry for the recipient's calendar.
type Event struct {
	Title       string    `json:"title"`
	Description string    `json:"description,omitempty"`
	Start       time.Time `json:"start"`
	End         time.Time `json:"end"`
}

// Replies returns suggested replies with these texts.
func Replies(texts ...string) (all []Suggestion) {
	for _, text := range texts {
		all = append(all, Suggestion{Kind: Reply, Text: text})
	}
	return all
}

// AllSuggestions returns the suggestions in the order in which a reader sees them: those of
// each card, then those below the message.
func (c Content) AllSuggestions() []Suggestion {
	var all []Suggestion
	if c.Card != nil {
		all = append(all, c.Card.Suggestions...)
	}
	if c.Carousel != nil {
		for _, card := range c.Carousel.Cards {
			all = append(all, card.Suggestions...)
		}
	}
	return append(all, c.Suggestions...)
}

// CountsClicks reports whether a suggestion counts its clicks.
func (c Content) CountsClicks() bool {
	return slices.ContainsFunc(c.AllSuggestions(), Suggestion.countsClicks)
}

func (s Suggestion) countsClicks() bool { return s.Kind == OpenURL && s.CountClicks }

// Target returns the URL of a suggestion that counts its clicks, "" if there is no such
// suggestion. It counts suggestions from 1, see AllSuggestions.
func (c Content) Target(suggestion int) string {
	all := c.AllSuggestions()
	if suggestion < 1 || suggestion > len(all) || !all[suggestion-1].countsClicks() {
		return ""
	}
	return all[suggestion-1].URL
}

// WithLinks returns a copy in which link replaces the URL of each suggestion that counts its
// clicks. It counts suggestions from 1, see AllSuggestions.
func (c Content) WithLinks(link func(suggestion int) string) Content {
	c = c.clone()
	n := 0
	replace := func(all []Suggestion) {
		for i := range all {
			if n++; all[i].countsClicks() {
				all[i].URL = link(n)
			}
		}
	}
	if c.Card != nil {
		replace(c.Card.Suggestions)
	}
	if c.Carousel != nil {
		for _, card := range c.Carousel.Cards {
			replace(card.Suggestions)
		}
	}
	replace(c.Suggestions)
	return c
}

// UnmarshalJSON also reads a string: the text of a suggested reply.
func (s *Suggestion) UnmarshalJSON(document []byte) error {
	if len(document) > 0 && document[0] == '"' {
		*s = Suggestion{Kind: Reply}
		return json.Unmarshal(document, &s.Text)
	}
	type plain Suggestion
	return json.Unmarshal(document, (*plain)(s))
}

func cloneSuggestions(all []Suggestion) []Suggestion {
	all = slices.Clone(all)
	for i, s := range all {
		if s.Location != nil {
			location := *s.Location
			all[i].Location = &location
		}
		if s.Event != nil {
			event := *s.Event
			all[i].Event = &event
		}
	}
	return all
}
