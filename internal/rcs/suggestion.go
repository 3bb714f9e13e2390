package rcs

import (
	"strings"
	"time"

	"campaign-dispatch/internal/campaign/content"
)

type suggestion struct {
	Reply  *reply  `json:"reply,omitempty"`
	Action *action `json:"action,omitempty"`
}

type reply struct {
	Text         string `json:"text"`
	PostbackData string `json:"postbackData"`
}

// action has exactly one of the actions.
type action struct {
	Text         string `json:"text"`
	PostbackData string `json:"postbackData"`

	OpenURL             *openURL       `json:"openUrlAction,omitempty"`
	Dial                *dial          `json:"dialAction,omitempty"`
	ViewLocation        *viewLocation  `json:"viewLocationAction,omitempty"`
	ShareLocation       *struct{}      `json:"shareLocationAction,omitempty"`
	CreateCalendarEvent *calendarEvent `json:"createCalendarEventAction,omitempty"`
}

type openURL struct {
	URL             string `json:"url"`
	Application     string `json:"application"`
	WebviewViewMode string `json:"webviewViewMode,omitempty"`
}

type dial struct {
	PhoneNumber string `json:"phoneNumber"`
}

type viewLocation struct {
	LatLong *latLong `json:"latLong,omitempty"`
	Label   string   `json:"label,omitempty"`
	Query   string   `json:"query,omitempty"`
}

type latLong struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
}

type calendarEvent struct {
	StartTime   time.Time `json:"startTime"`
	EndTime     time.Time `json:"endTime"`
	Title       string    `json:"title"`
	Description string    `json:"description,omitempty"`
}

// postbacks returns the postback data of a message's suggestions, in order.
type postbacks struct {
	of    func(suggestion int) string // nil for the suggestion's text
	count int
}

func (p *postbacks) next(s content.Suggestion) string {
	p.count++
	if p.of == nil {
		return s.Text
	}
	return p.of(p.count)
}

func suggestionsOf(all []content.Suggestion, p *postbacks) (encoded []suggestion) {
	for _, s := range all {
		encoded = append(encoded, suggestionOf(s, p.next(s)))
	}
	return encoded
}

func suggestionOf(s content.Suggestion, postback string) suggestion {
	a := action{Text: s.Text, PostbackData: postback}
	switch s.Kind {
	case content.Reply:
		return suggestion{Reply: &reply{Text: s.Text, PostbackData: postback}}
	case content.OpenURL:
		a.OpenURL = openURLOf(s)
	case content.Dial:
		a.Dial = &dial{s.Phone}
	case content.ShowLocation:
		a.ViewLocation = viewLocationOf(*s.Location)
	case content.RequestLocation:
		a.ShareLocation = &struct{}{}
	case content.CalendarEvent:
		a.CreateCalendarEvent = &calendarEvent{s.Event.Start.UTC(), s.Event.End.UTC(), s.Event.Title, s.Event.Description}
	}
	return suggestion{Action: &a}
}

func openURLOf(s content.Suggestion) *openURL {
	if s.Webview == "" {
		return &openURL{URL: s.URL, Application: "BROWSER"}
	}
	return &openURL{URL: s.URL, Application: "WEBVIEW", WebviewViewMode: strings.ToUpper(string(s.Webview))}
}

func viewLocationOf(l content.Location) *viewLocation {
	if l.Query != "" {
		return &viewLocation{Query: l.Query}
	}
	return &viewLocation{LatLong: &latLong{l.Latitude, l.Longitude}, Label: l.Label}
}
