package events

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign/reaction"
)

// event is an event of the provider: about a person or from its server, a text, or a tap on a suggestion.
type event struct {
	SenderPhoneNumber string `json:"senderPhoneNumber"` // of a person's event
	PhoneNumber       string `json:"phoneNumber"`       // of a server's event
	EventType         string `json:"eventType"`
	EventID           string `json:"eventId"`
	MessageID         string `json:"messageId"` // of the agent's message; for a text, its own ID
	SendTime          string `json:"sendTime"`

	Text               string `json:"text"`
	SuggestionResponse *struct {
		Text         string `json:"text"`
		PostbackData string `json:"postbackData"`
	} `json:"suggestionResponse"`
	UserFile json.RawMessage `json:"userFile"`
	Location json.RawMessage `json:"location"`
}

// kinds maps the provider's event types. Other types, such as IS_TYPING, are ignored.
var kinds = map[string]reaction.EventKind{
	"DELIVERED":                    reaction.EventDelivered,
	"READ":                         reaction.EventRead,
	"TTL_EXPIRATION_REVOKED":       reaction.EventExpired,
	"TTL_EXPIRATION_REVOKE_FAILED": reaction.EventRevokeFailed,
	"UNSUBSCRIBE":                  reaction.EventOptOut,
	"SUBSCRIBE":                    reaction.EventOptIn,
}

// task returns the task for the event and the content of its blob, if it names one. It
// returns false if the event is ignored.
func (e event) task(agent string, now time.Time) (reaction.EventTask, reaction.EventContent, bool) {
	phone := international(cmp.Or(e.SenderPhoneNumber, e.PhoneNumber))
	t := reaction.EventTask{Kind: kinds[e.EventType], AgentID: agent, EventID: e.EventID, MessageID: e.MessageID, At: e.at(now)}
	text := e.words()
	if e.EventType == "" && (text != "" || e.UserFile != nil || e.Location != nil) {
		t.Kind = reaction.EventReply
		t.EventID, t.MessageID = cmp.Or(e.EventID, e.MessageID), ""
	}
	if !t.Kind.Personal() {
		return t, reaction.EventContent{}, t.Kind != "" && t.MessageID != ""
	}
	t.EventID = cmp.Or(t.EventID, e.SendTime)
	t.Blob, t.ArrivedAt = blobKey(agent, t.EventID, phone), now.UTC().Truncate(time.Millisecond)
	content := reaction.EventContent{Phone: phone, Text: text}
	if tap := e.SuggestionResponse; tap != nil {
		content.Postback = cmp.Or(tap.PostbackData, tap.Text) // which makes it a tap
	}
	_, content.Pending, _ = reaction.OptChangeOf(t.Kind, content.Text, content.Postback)
	return t, content, t.EventID != ""
}

// words returns the text of a reply or of the tapped suggestion. It is "" for a file or a location.
func (e event) words() string {
	if tap := e.SuggestionResponse; tap != nil {
		return cmp.Or(tap.Text, tap.PostbackData)
	}
	return e.Text
}

// at returns the time of the event, or now if the time is missing or in the future.
func (e event) at(now time.Time) time.Time {
	at, err := time.Parse(time.RFC3339Nano, e.SendTime)
	if err != nil || at.After(now) {
		at = now
	}
	return at.UTC().Truncate(time.Millisecond)
}

func international(phone string) string {
	if phone == "" || strings.HasPrefix(phone, "+") {
		return phone
	}
	return "+" + phone
}

// blobKey returns the key of an event's content. The provider identifies an event by
// its ID and the number, so a repeated event has the same key.
func blobKey(agent, eventID, phone string) string {
	sum := sha256.Sum256([]byte(eventID + "\n" + phone))
	return "events/" + agent + "/" + base64.RawURLEncoding.EncodeToString(sum[:])
}
