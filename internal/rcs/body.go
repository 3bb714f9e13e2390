package rcs

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/send/outgoing"
)

// The request body of phones.agentMessages.create, as the provider's reference documents it.
type agentMessage struct {
	ContentMessage     contentMessage `json:"contentMessage"`
	MessageTrafficType string         `json:"messageTrafficType"`
	TTL                string         `json:"ttl"`
}

type contentMessage struct {
	Text        string       `json:"text,omitempty"`
	RichCard    *richCard    `json:"richCard,omitempty"`
	ContentInfo *contentInfo `json:"contentInfo,omitempty"`
	Suggestions []suggestion `json:"suggestions,omitempty"`
}

type richCard struct {
	StandaloneCard *standaloneCard `json:"standaloneCard,omitempty"`
	CarouselCard   *carouselCard   `json:"carouselCard,omitempty"`
}

type standaloneCard struct {
	CardOrientation         string      `json:"cardOrientation"`
	ThumbnailImageAlignment string      `json:"thumbnailImageAlignment,omitempty"`
	CardContent             cardContent `json:"cardContent"`
}

type carouselCard struct {
	CardWidth    string        `json:"cardWidth"`
	CardContents []cardContent `json:"cardContents"`
}

type cardContent struct {
	Title       string       `json:"title,omitempty"`
	Description string       `json:"description,omitempty"`
	Media       *media       `json:"media,omitempty"`
	Suggestions []suggestion `json:"suggestions,omitempty"`
}

type media struct {
	Height             string      `json:"height"`
	ContentInfo        contentInfo `json:"contentInfo"`
	ContentDescription string      `json:"contentDescription,omitempty"`
}

type contentInfo struct {
	FileURL      string `json:"fileUrl"`
	ThumbnailURL string `json:"thumbnailUrl,omitempty"`
}

var traffics = map[campaign.Traffic]string{
	"":                      "PROMOTION",
	campaign.Promotion:      "PROMOTION",
	campaign.Transaction:    "TRANSACTION",
	campaign.Authentication: "AUTHENTICATION",
	campaign.ServiceRequest: "SERVICEREQUEST",
}

// encode returns the request body that sends the message. It always sets a ttl:
// campaign.MessageTTL if the message has none.
func encode(m outgoing.Message) ([]byte, error) {
	return json.Marshal(agentMessage{
		ContentMessage:     contentOf(m.Content, &postbacks{of: m.Postback}),
		MessageTrafficType: traffics[m.Traffic],
		TTL:                seconds(m.TTL),
	})
}

// contentOf encodes a content. It encodes the suggestions in the order of content.AllSuggestions.
func contentOf(c content.Content, p *postbacks) contentMessage {
	m := contentMessage{Text: c.Text}
	switch {
	case c.Card != nil:
		m.Text, m.RichCard = "", &richCard{StandaloneCard: standaloneOf(*c.Card, p)}
	case c.Carousel != nil:
		m.Text, m.RichCard = "", &richCard{CarouselCard: carouselOf(*c.Carousel, p)}
	case c.File != nil:
		m.Text, m.ContentInfo = "", &contentInfo{c.File.URL, c.File.ThumbnailURL}
	}
	m.Suggestions = suggestionsOf(c.Suggestions, p)
	return m
}

func standaloneOf(c content.Card, p *postbacks) *standaloneCard {
	card := standaloneCard{CardOrientation: "VERTICAL", CardContent: cardOf(c, p)}
	if c.Horizontal {
		card.CardOrientation, card.ThumbnailImageAlignment = "HORIZONTAL", "LEFT"
		if c.MediaRight {
			card.ThumbnailImageAlignment = "RIGHT"
		}
	}
	return &card
}

func carouselOf(c content.Carousel, p *postbacks) *carouselCard {
	carousel := carouselCard{CardWidth: name(string(c.Width))}
	for _, card := range c.Cards {
		carousel.CardContents = append(carousel.CardContents, cardOf(card, p))
	}
	return &carousel
}

func cardOf(c content.Card, p *postbacks) cardContent {
	card := cardContent{Title: c.Title, Description: c.Description, Suggestions: suggestionsOf(c.Suggestions, p)}
	if m := c.Media; m != nil && m.URL != "" {
		card.Media = &media{name(string(m.Height)), contentInfo{m.URL, m.ThumbnailURL}, m.ContentDescription}
	}
	return card
}

// name returns the provider's name of a height or a width, "MEDIUM" for "".
func name(size string) string { return strings.ToUpper(cmp.Or(size, "medium")) }

// seconds formats a duration as the provider does: "3.5s".
func seconds(d time.Duration) string {
	if d <= 0 {
		d = campaign.MessageTTL
	}
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
}

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
