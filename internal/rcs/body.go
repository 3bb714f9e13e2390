package rcs

import (
	"encoding/json"
	"strconv"
	"time"

	"campaign-dispatch/internal/campaign"
)

// traffic is the traffic type of all messages. Templates do not state their purpose,
// and PROMOTION is the type with the fewest privileges.
const traffic = "PROMOTION"

type agentMessage struct {
	ContentMessage     contentMessage `json:"contentMessage"`
	MessageTrafficType string         `json:"messageTrafficType"`
	TTL                string         `json:"ttl"`
}

type contentMessage struct {
	Text     string    `json:"text,omitempty"`
	RichCard *richCard `json:"richCard,omitempty"`
}

type richCard struct {
	StandaloneCard standaloneCard `json:"standaloneCard"`
}

type standaloneCard struct {
	CardOrientation string      `json:"cardOrientation"`
	CardContent     cardContent `json:"cardContent"`
}

type cardContent struct {
	Title       string       `json:"title,omitempty"`
	Description string       `json:"description,omitempty"`
	Media       *media       `json:"media,omitempty"`
	Suggestions []suggestion `json:"suggestions,omitempty"`
}

type media struct {
	Height      string      `json:"height"`
	ContentInfo contentInfo `json:"contentInfo"`
}

type contentInfo struct {
	FileURL string `json:"fileUrl"`
}

type suggestion struct {
	Reply reply `json:"reply"`
}

type reply struct {
	Text         string `json:"text"`
	PostbackData string `json:"postbackData"`
}

// encode returns the request body that sends the message. It always sets a ttl:
// campaign.MessageTTL if the message has none.
func encode(d campaign.OutgoingMessage) ([]byte, error) {
	m := agentMessage{MessageTrafficType: traffic, TTL: seconds(d.TTL)}
	if d.Content.Card == nil {
		m.ContentMessage.Text = d.Content.Text
	} else {
		m.ContentMessage.RichCard = &richCard{standaloneCard{"VERTICAL", cardOf(*d.Content.Card)}}
	}
	return json.Marshal(m)
}

func cardOf(card campaign.Card) cardContent {
	content := cardContent{Title: card.Title, Description: card.Description}
	if card.MediaURL != "" {
		content.Media = &media{Height: "MEDIUM", ContentInfo: contentInfo{FileURL: card.MediaURL}}
	}
	for _, text := range card.Suggestions {
		content.Suggestions = append(content.Suggestions, suggestion{reply{Text: text, PostbackData: text}})
	}
	return content
}

// seconds formats a duration as the provider does: "3.5s".
func seconds(d time.Duration) string {
	if d <= 0 {
		d = campaign.MessageTTL
	}
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
}
