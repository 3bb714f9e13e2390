package templates

import (
	"math"
	"strconv"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/dashboard/web"
)

// The forms of a message.
const (
	formText     = "text"
	formCard     = "card"
	formCarousel = "carousel"
	formFile     = "file"
)

// draft holds what a person has entered, also what cannot be saved and what belongs to
// other forms of a message than the chosen one.
type draft struct {
	ID, Name, Traffic string
	Form              string

	Text string

	Card   draftCard
	Layout string // of the card: "" for vertical, else the side of the media
	Height string // of the card's media

	Cards       []draftCard // of the carousel
	Width       string
	CardsHeight string // of the media of all cards

	File, FileThumbnail string

	Suggestions []draftSuggestion // below the message
	Checked     bool              // a save was refused: the form shows errors at their fields

	// Base is the version whose cards and suggestions the form names instead of repeating
	// them, 0 for none.
	Base int
	// Edited is the newest version when the form was opened, 0 for a new template.
	Edited int
}

// draftCard is a card. Its JSON is the value of a closed card's field.
type draftCard struct {
	Title       string            `json:"t,omitempty"`
	Description string            `json:"d,omitempty"`
	Media       string            `json:"m,omitempty"`
	Thumbnail   string            `json:"n,omitempty"`
	MediaText   string            `json:"a,omitempty"` // what screen readers say
	Suggestions []draftSuggestion `json:"s,omitempty"`

	shown
}

// shown is how the form shows a card or a suggestion.
type shown struct {
	open bool   // with its fields
	base string // its name in the base version if it is unchanged, or ""
}

// draftSuggestion is a reply or an action. Its JSON is the value of a closed suggestion's
// field.
type draftSuggestion struct {
	Kind      string `json:"k,omitempty"`
	Text      string `json:"t,omitempty"`
	URL       string `json:"u,omitempty"`
	Webview   string `json:"w,omitempty"`
	Clicks    string `json:"c,omitempty"` // countClicks, or ""
	Phone     string `json:"p,omitempty"`
	Latitude  string `json:"la,omitempty"`
	Longitude string `json:"lo,omitempty"`
	Label     string `json:"l,omitempty"`
	Query     string `json:"q,omitempty"`
	Title     string `json:"e,omitempty"`
	Details   string `json:"d,omitempty"`
	Start     string `json:"b,omitempty"` // São Paulo time
	End       string `json:"f,omitempty"`

	shown
}

// countClicks is the value of the field of links whose clicks are counted.
const countClicks = "count"

func newDraft() draft {
	return draft{Form: formText, Cards: []draftCard{{shown: shown{open: true}}, {}}}
}

// exampleDraft returns a message that can be saved as it is.
func exampleDraft(p *web.Page) draft {
	d := newDraft()
	d.Name, d.Text = p.T("templates.example"), p.T("templates.example_text")
	d.Suggestions = []draftSuggestion{{Text: p.T("templates.example_reply")}}
	return d
}

func draftOf(p *web.Page, t campaign.Template) draft {
	d := draft{Base: t.Version, Edited: t.Version}
	d.ID, d.Name, d.Traffic, d.Form, d.Text = t.ID, t.Name, string(t.Traffic), formOf(t.Content), t.Text
	d.Suggestions = draftSuggestions(p, "", t.Suggestions)
	if t.Card != nil {
		d.Card, d.Layout = draftCardOf(p, "card", *t.Card), layoutOf(*t.Card)
		d.Height = heightOf(*t.Card)
	}
	if t.Carousel != nil {
		d.Width = string(t.Carousel.Width)
		for i, c := range t.Carousel.Cards {
			d.Cards, d.CardsHeight = append(d.Cards, draftCardOf(p, cardName(i+1), c)), max(d.CardsHeight, heightOf(c))
		}
	}
	if t.File != nil {
		d.File, d.FileThumbnail = t.File.URL, t.File.ThumbnailURL
	}
	return d
}

func formOf(c content.Content) string {
	switch {
	case c.Card != nil:
		return formCard
	case c.Carousel != nil:
		return formCarousel
	case c.File != nil:
		return formFile
	}
	return formText
}

func layoutOf(c content.Card) string {
	switch {
	case !c.Horizontal:
		return ""
	case c.MediaRight:
		return "right"
	}
	return "left"
}

func heightOf(c content.Card) string {
	if c.Media == nil || c.Media.Height == content.Medium {
		return ""
	}
	return string(c.Media.Height)
}

func draftCardOf(p *web.Page, name string, c content.Card) draftCard {
	d := draftCard{Title: c.Title, Description: c.Description, Suggestions: draftSuggestions(p, name+"-", c.Suggestions)}
	d.base = name
	if m := c.Media; m != nil {
		d.Media, d.Thumbnail, d.MediaText = m.URL, m.ThumbnailURL, m.ContentDescription
	}
	return d
}

func draftSuggestions(p *web.Page, prefix string, all []content.Suggestion) (drafts []draftSuggestion) {
	for i, s := range all {
		d := draftSuggestion{Kind: string(s.Kind), Text: s.Text, URL: s.URL, Webview: string(s.Webview), Phone: s.Phone}
		d.base = suggestionName(prefix, i+1)
		if s.CountClicks {
			d.Clicks = countClicks
		}
		if l := s.Location; l != nil {
			d.Latitude, d.Longitude = degreesText(*l)
			d.Label, d.Query = l.Label, l.Query
		}
		if e := s.Event; e != nil {
			d.Title, d.Details, d.Start, d.End = e.Title, e.Description, localText(p, e.Start), localText(p, e.End)
		}
		drafts = append(drafts, d)
	}
	return drafts
}

// degreesText returns the coordinates of a location, or "" if it has none.
func degreesText(l content.Location) (latitude, longitude string) {
	if l.Latitude == 0 && l.Longitude == 0 {
		return "", ""
	}
	return strconv.FormatFloat(l.Latitude, 'f', -1, 64), strconv.FormatFloat(l.Longitude, 'f', -1, 64)
}

// localText returns a time as the value of a field, with its seconds if it has any.
func localText(p *web.Page, at time.Time) string {
	if at.Second() != 0 {
		return p.Local(at) + at.Format(":05")
	}
	return p.Local(at)
}

func (d draft) template(tenant string) campaign.Template {
	t := campaign.Template{ID: d.ID, Tenant: tenant, Name: d.Name, Traffic: campaign.Traffic(d.Traffic)}
	t.Suggestions = suggestionsOf(d.Suggestions)
	switch d.Form {
	case formCard:
		card := d.Card.card(d.Height)
		card.Horizontal, card.MediaRight = d.Layout != "", d.Layout == "right"
		t.Card = &card
	case formCarousel:
		t.Carousel = &content.Carousel{Width: content.Width(d.Width)}
		for _, c := range d.Cards {
			t.Carousel.Cards = append(t.Carousel.Cards, c.card(d.CardsHeight))
		}
	case formFile:
		t.File = &content.File{URL: d.File, ThumbnailURL: d.FileThumbnail}
	default:
		t.Text = d.Text
	}
	return t
}

func (d draftCard) card(height string) content.Card {
	c := content.Card{Title: d.Title, Description: d.Description, Suggestions: suggestionsOf(d.Suggestions)}
	if d.Media != "" || d.Thumbnail != "" || d.MediaText != "" {
		c.Media = &content.Media{URL: d.Media, ThumbnailURL: d.Thumbnail, Height: content.Height(height), ContentDescription: d.MediaText}
	}
	return c
}

func suggestionsOf(drafts []draftSuggestion) (all []content.Suggestion) {
	for _, d := range drafts {
		all = append(all, d.suggestion())
	}
	return all
}

// suggestion returns the suggestion without the fields of other kinds.
func (d draftSuggestion) suggestion() content.Suggestion {
	s := content.Suggestion{Kind: content.Kind(d.Kind), Text: d.Text}
	switch s.Kind {
	case "":
		s.Kind = content.Reply
	case content.OpenURL:
		s.URL, s.Webview, s.CountClicks = d.URL, content.Webview(d.Webview), d.Clicks == countClicks
	case content.Dial:
		s.Phone = d.Phone
	case content.ShowLocation:
		s.Location = &content.Location{Label: d.Label, Query: d.Query}
		s.Location.Latitude, s.Location.Longitude = d.point()
	case content.CalendarEvent:
		s.Event = &content.Event{Title: d.Title, Description: d.Details, Start: parseTime(d.Start), End: parseTime(d.End)}
	case content.Reply, content.RequestLocation:
	}
	return s
}

// point returns the coordinates of a location. If one of them is missing, it is no valid
// number.
func (d draftSuggestion) point() (latitude, longitude float64) {
	if (d.Latitude == "") != (d.Longitude == "") {
		return math.Inf(1), math.Inf(1)
	}
	return degrees(d.Latitude), degrees(d.Longitude)
}

// degrees returns a coordinate, 0 for none. For a text that is not a number, it returns
// infinity, which exceeds every limit.
func degrees(text string) float64 {
	if text == "" {
		return 0
	}
	n, err := strconv.ParseFloat(strings.Replace(text, ",", ".", 1), 64)
	if err != nil || math.IsNaN(n) {
		return math.Inf(1)
	}
	return n
}

// parseTime returns the time in a field, zero if it is none.
func parseTime(text string) time.Time {
	at, _ := localtime.Parse(text)
	return at
}
