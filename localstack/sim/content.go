package sim

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// The provider's limits: bytes of a request body, characters of each text, and numbers of cards and suggestions.
const (
	maxBody            = 250 << 10
	maxText            = 3072
	maxTitle           = 200
	maxDescription     = 2000
	maxMediaText       = 200
	minCards           = 2
	maxCards           = 10
	maxSuggestions     = 11
	maxCardSuggestions = 4
	maxSuggestionText  = 25
	maxPostback        = 2048
	maxURL             = 2048
)

// minTTL is the shortest ttl that the provider takes.
const minTTL = 10 * time.Second

// agentMessage is the request body of a message, with the members that the simulator supports.
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
	case m.TTL != "" && m.lifetime() < minTTL:
		return invalid("ttl is less than %v.", minTTL)
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

// text returns the text, the URL of the file, or the titles and descriptions of the cards, each on a line.
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

type standaloneCard struct {
	CardOrientation         string      `json:"cardOrientation"`
	ThumbnailImageAlignment string      `json:"thumbnailImageAlignment"`
	CardContent             cardContent `json:"cardContent"`
}

type carouselCard struct {
	CardWidth    string        `json:"cardWidth"`
	CardContents []cardContent `json:"cardContents"`
}

type cardContent struct {
	Title       string       `json:"title"`
	Description string       `json:"description"`
	Media       *media       `json:"media"`
	Suggestions []suggestion `json:"suggestions"`
}

type media struct {
	Height             string      `json:"height"`
	ContentInfo        contentInfo `json:"contentInfo"`
	ContentDescription string      `json:"contentDescription"`
}

// File returns the file of the message, nil without one.
func (c contentMessage) File() *media {
	if c.ContentInfo == nil {
		return nil
	}
	return &media{ContentInfo: *c.ContentInfo}
}

type contentInfo struct {
	FileURL      string `json:"fileUrl"`
	ThumbnailURL string `json:"thumbnailUrl"`
	ForceRefresh bool   `json:"forceRefresh"`
}

var (
	orientations = []string{"HORIZONTAL", "VERTICAL"}
	alignments   = []string{"LEFT", "RIGHT"}
	widths       = []string{"SMALL", "MEDIUM"}
	heights      = []string{"SHORT", "MEDIUM", "TALL"}
)

func (c standaloneCard) check() error {
	switch {
	case !slices.Contains(orientations, c.CardOrientation):
		return invalid("cardOrientation is required.")
	case c.CardOrientation == "HORIZONTAL" && !slices.Contains(alignments, c.ThumbnailImageAlignment):
		return invalid("thumbnailImageAlignment is required for a horizontal card.")
	}
	return c.CardContent.check()
}

func (c carouselCard) check() error {
	switch n := len(c.CardContents); {
	case n < minCards || n > maxCards:
		return invalid("A carousel has %d to %d cards.", minCards, maxCards)
	case !slices.Contains(widths, c.CardWidth):
		return invalid("cardWidth is required.")
	}
	for _, card := range c.CardContents {
		if c.CardWidth == "SMALL" && card.Media != nil && card.Media.Height == "TALL" {
			return invalid("Cards of the width SMALL have no media of the height TALL.")
		}
		if err := card.check(); err != nil {
			return err
		}
	}
	return nil
}

func (c cardContent) check() error {
	switch {
	case c.Title == "" && c.Description == "" && c.Media == nil:
		return invalid("cardContent is empty.")
	case longer(c.Title, maxTitle):
		return invalid("title is longer than %d characters.", maxTitle)
	case longer(c.Description, maxDescription):
		return invalid("description is longer than %d characters.", maxDescription)
	case c.Media != nil && !slices.Contains(heights, c.Media.Height):
		return invalid("media height is required.")
	case c.Media != nil && longer(c.Media.ContentDescription, maxMediaText):
		return invalid("contentDescription is longer than %d characters.", maxMediaText)
	}
	if c.Media != nil {
		if err := c.Media.ContentInfo.check(); err != nil {
			return err
		}
	}
	return checkSuggestions(c.Suggestions, maxCardSuggestions)
}

func (c contentInfo) check() error {
	if !webURL(c.FileURL) {
		return invalid("fileUrl is not a URL.")
	}
	if c.ThumbnailURL != "" && !webURL(c.ThumbnailURL) {
		return invalid("thumbnailUrl is not a URL.")
	}
	return nil
}

func webURL(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}
