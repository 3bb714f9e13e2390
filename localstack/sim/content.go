package sim

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// The provider's limits: bytes of a request body, characters of each text, and
// numbers of cards and suggestions.
const (
	maxBody            = 250 << 10
	maxText            = 3072
	maxTitle           = 200
	maxDescription     = 2000
	minCards           = 2
	maxCards           = 10
	maxSuggestions     = 11
	maxCardSuggestions = 4
	maxSuggestionText  = 25
	maxPostback        = 2048
	maxURL             = 2048
)

// agentMessage is the request body of a message, with the members that the simulator
// supports.
type agentMessage struct {
	ContentMessage     contentMessage `json:"contentMessage"`
	MessageTrafficType string         `json:"messageTrafficType"`
	TTL                string         `json:"ttl"`
	ExpireTime         string         `json:"expireTime"`
}

type contentMessage struct {
	Text     string `json:"text"`
	RichCard *struct {
		StandaloneCard *standaloneCard `json:"standaloneCard"`
		CarouselCard   *carouselCard   `json:"carouselCard"`
	} `json:"richCard"`
	ContentInfo *contentInfo `json:"contentInfo"`
	Suggestions []suggestion `json:"suggestions"`
}

var (
	duration     = regexp.MustCompile(`^\d{1,12}(\.\d{1,9})?s$`)
	trafficTypes = []string{"", "AUTHENTICATION", "TRANSACTION", "PROMOTION", "SERVICEREQUEST", "ACKNOWLEDGEMENT"}
)

func readAgentMessage(w http.ResponseWriter, r *http.Request) (agentMessage, error) {
	var m agentMessage
	if err := readJSON(w, r, maxBody, &m); err != nil {
		return m, err
	}
	return m, m.check()
}

func (m agentMessage) check() error {
	switch {
	case m.TTL != "" && m.ExpireTime != "":
		return invalid("ttl and expireTime exclude each other.")
	case m.TTL != "" && !duration.MatchString(m.TTL):
		return invalid("ttl is a duration in seconds.")
	case !slices.Contains(trafficTypes, m.MessageTrafficType):
		return invalid("messageTrafficType is unknown.")
	}
	return m.ContentMessage.check()
}

func (c contentMessage) check() error {
	switch {
	case !oneOf(c.Text != "", c.RichCard != nil, c.ContentInfo != nil):
		return invalid("contentMessage holds exactly one of text, richCard and contentInfo.")
	case longer(c.Text, maxText):
		return invalid("text is longer than %d characters.", maxText)
	case c.RichCard != nil && (c.RichCard.StandaloneCard == nil) == (c.RichCard.CarouselCard == nil):
		return invalid("richCard holds either a standaloneCard or a carouselCard.")
	}
	if err := checkSuggestions(c.Suggestions, maxSuggestions); err != nil {
		return err
	}
	switch {
	case c.ContentInfo != nil:
		return c.ContentInfo.check()
	case c.RichCard != nil && c.RichCard.CarouselCard != nil:
		return c.RichCard.CarouselCard.check()
	case c.RichCard != nil:
		return c.RichCard.StandaloneCard.check()
	}
	return nil
}

func longer(text string, limit int) bool { return utf8.RuneCountInString(text) > limit }

// cards returns the cards of the message, none for a text and a file.
func (c contentMessage) cards() []cardContent {
	switch {
	case c.RichCard == nil:
		return nil
	case c.RichCard.CarouselCard != nil:
		return c.RichCard.CarouselCard.CardContents
	}
	return []cardContent{c.RichCard.StandaloneCard.CardContent}
}

// suggestions returns the suggestions in the order in which a reader sees them.
func (c contentMessage) suggestions() []suggestion {
	var all []suggestion
	for _, card := range c.cards() {
		all = append(all, card.Suggestions...)
	}
	return append(all, c.Suggestions...)
}

// text returns the text, the URL of the file, or the titles and descriptions of the cards,
// each on a line.
func (m agentMessage) text() string {
	c := m.ContentMessage
	if c.ContentInfo != nil {
		return c.ContentInfo.FileURL
	}
	lines := []string{c.Text}
	for _, card := range c.cards() {
		lines = append(lines, card.Title, card.Description)
	}
	return strings.Join(slices.DeleteFunc(lines, func(s string) bool { return s == "" }), "\n")
}

// lifetime returns the message's ttl, or 0 if it has none.
func (m agentMessage) lifetime() time.Duration {
	ttl, _ := time.ParseDuration(m.TTL)
	return ttl
}
