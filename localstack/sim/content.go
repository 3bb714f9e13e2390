package sim

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// The provider's limits: bytes of a request body, characters of each text, and
// numbers of suggestions.
const (
	maxBody            = 250 << 10
	maxText            = 3072
	maxTitle           = 200
	maxDescription     = 2000
	maxSuggestions     = 11
	maxCardSuggestions = 4
	maxSuggestionText  = 25
)

// agentMessage is the request body of a message, with the members that the simulator
// supports.
type agentMessage struct {
	ContentMessage struct {
		Text     string `json:"text"`
		RichCard *struct {
			StandaloneCard *standaloneCard `json:"standaloneCard"`
		} `json:"richCard"`
		Suggestions []suggestion `json:"suggestions"`
	} `json:"contentMessage"`
	MessageTrafficType string `json:"messageTrafficType"`
	TTL                string `json:"ttl"`
	ExpireTime         string `json:"expireTime"`
}

type standaloneCard struct {
	CardOrientation         string `json:"cardOrientation"`
	ThumbnailImageAlignment string `json:"thumbnailImageAlignment"`
	CardContent             struct {
		Title       string       `json:"title"`
		Description string       `json:"description"`
		Media       *media       `json:"media"`
		Suggestions []suggestion `json:"suggestions"`
	} `json:"cardContent"`
}

type media struct {
	Height      string `json:"height"`
	ContentInfo struct {
		FileURL      string `json:"fileUrl"`
		ThumbnailURL string `json:"thumbnailUrl"`
		ForceRefresh bool   `json:"forceRefresh"`
	} `json:"contentInfo"`
}

type suggestion struct {
	Reply *struct {
		Text         string `json:"text"`
		PostbackData string `json:"postbackData"`
	} `json:"reply"`
	Action json.RawMessage `json:"action"`
}

var (
	duration     = regexp.MustCompile(`^\d{1,12}(\.\d{1,9})?s$`)
	trafficTypes = []string{"", "AUTHENTICATION", "TRANSACTION", "PROMOTION", "SERVICEREQUEST", "ACKNOWLEDGEMENT"}
	orientations = []string{"HORIZONTAL", "VERTICAL"}
	heights      = []string{"SHORT", "MEDIUM", "TALL"}
)

func readAgentMessage(w http.ResponseWriter, r *http.Request) (agentMessage, error) {
	var m agentMessage
	if err := readJSON(w, r, maxBody, &m); err != nil {
		return m, err
	}
	return m, m.check()
}

func (m agentMessage) check() error {
	content := m.ContentMessage
	switch {
	case m.TTL != "" && m.ExpireTime != "":
		return invalid("ttl and expireTime exclude each other.")
	case m.TTL != "" && !duration.MatchString(m.TTL):
		return invalid("ttl is a duration in seconds.")
	case !slices.Contains(trafficTypes, m.MessageTrafficType):
		return invalid("messageTrafficType is unknown.")
	case (content.Text == "") == (content.RichCard == nil):
		return invalid("contentMessage holds either a text or a rich card.")
	case longer(content.Text, maxText):
		return invalid("text is longer than %d characters.", maxText)
	case content.RichCard != nil && content.RichCard.StandaloneCard == nil:
		return invalid("richCard holds no standaloneCard.")
	}
	if err := checkSuggestions(content.Suggestions, maxSuggestions); err != nil || content.RichCard == nil {
		return err
	}
	return content.RichCard.StandaloneCard.check()
}

func (c standaloneCard) check() error {
	content := c.CardContent
	switch {
	case !slices.Contains(orientations, c.CardOrientation):
		return invalid("cardOrientation is required.")
	case content.Title == "" && content.Description == "" && content.Media == nil:
		return invalid("cardContent is empty.")
	case longer(content.Title, maxTitle):
		return invalid("title is longer than %d characters.", maxTitle)
	case longer(content.Description, maxDescription):
		return invalid("description is longer than %d characters.", maxDescription)
	case content.Media != nil && !slices.Contains(heights, content.Media.Height):
		return invalid("media height is required.")
	case content.Media != nil && !strings.HasPrefix(content.Media.ContentInfo.FileURL, "http"):
		return invalid("fileUrl is not a URL.")
	}
	return checkSuggestions(content.Suggestions, maxCardSuggestions)
}

func checkSuggestions(suggestions []suggestion, limit int) error {
	if len(suggestions) > limit {
		return invalid("More than %d suggestions.", limit)
	}
	for _, s := range suggestions {
		switch {
		case (s.Reply == nil) == (s.Action == nil):
			return invalid("A suggestion is either a reply or an action.")
		case s.Reply != nil && (s.Reply.Text == "" || s.Reply.PostbackData == ""):
			return invalid("A suggested reply has a text and postbackData.")
		case s.Reply != nil && longer(s.Reply.Text, maxSuggestionText):
			return invalid("A suggestion's text is longer than %d characters.", maxSuggestionText)
		}
	}
	return nil
}

func longer(text string, limit int) bool { return utf8.RuneCountInString(text) > limit }

// text returns the text, or the title and description of the card.
func (m agentMessage) text() string {
	if m.ContentMessage.RichCard == nil {
		return m.ContentMessage.Text
	}
	card := m.ContentMessage.RichCard.StandaloneCard.CardContent
	return strings.Trim(card.Title+"\n"+card.Description, "\n")
}

// lifetime returns the message's ttl, or 0 if it has none.
func (m agentMessage) lifetime() time.Duration {
	ttl, _ := time.ParseDuration(m.TTL)
	return ttl
}
