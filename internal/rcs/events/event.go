package events

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
)

// event is a message of the provider: an event of a person or of a server, a
// text, or a tap on a suggestion.
type event struct {
	SenderPhoneNumber string `json:"senderPhoneNumber"` // of a person
	PhoneNumber       string `json:"phoneNumber"`       // of a server's event
	EventType         string `json:"eventType"`
	EventID           string `json:"eventId"`
	MessageID         string `json:"messageId"` // the agent's message; of a text, its own
	SendTime          string `json:"sendTime"`

	Text               string `json:"text"`
	SuggestionResponse *struct {
		Text         string `json:"text"`
		PostbackData string `json:"postbackData"`
	} `json:"suggestionResponse"`
	UserFile json.RawMessage `json:"userFile"`
	Location json.RawMessage `json:"location"`
}

func readEvent(data []byte) (e event, ok bool) {
	ok = json.Unmarshal(data, &e) == nil
	return e, ok
}

// kinds are the events that mean something here. All others, such as IS_TYPING,
// are left out.
var kinds = map[string]campaign.EventKind{
	"DELIVERED":                    campaign.EventDelivered,
	"READ":                         campaign.EventRead,
	"TTL_EXPIRATION_REVOKED":       campaign.EventExpired,
	"TTL_EXPIRATION_REVOKE_FAILED": campaign.EventRevokeFailed,
	"UNSUBSCRIBE":                  campaign.EventOptOut,
	"SUBSCRIBE":                    campaign.EventOptIn,
}

// personal are the kinds that are about a person rather than a message: the
// number has to be known, and rests in a blob.
var personal = map[campaign.EventKind]bool{
	campaign.EventReply:  true,
	campaign.EventOptOut: true,
	campaign.EventOptIn:  true,
}

// task returns what the event asks for, and what belongs in its blob if it names
// one; false if the event means nothing here.
func (e event) task(agent string, now time.Time) (campaign.EventTask, campaign.EventContent, bool) {
	phone := international(cmp.Or(e.SenderPhoneNumber, e.PhoneNumber))
	t := campaign.EventTask{Kind: kinds[e.EventType], AgentID: agent, EventID: e.EventID, MessageID: e.MessageID, At: e.at(now)}
	text := e.words()
	if e.EventType == "" && (text != "" || e.UserFile != nil || e.Location != nil) {
		t.Kind = campaign.EventReply
		t.EventID, t.MessageID = cmp.Or(e.EventID, e.MessageID), ""
	}
	if !personal[t.Kind] {
		return t, campaign.EventContent{}, t.Kind != "" && t.MessageID != ""
	}
	t.EventID = cmp.Or(t.EventID, e.SendTime)
	t.Blob = blobKey(agent, t.EventID, phone)
	content := campaign.EventContent{Phone: phone, Text: text}
	if e.SuggestionResponse != nil {
		content.Postback = e.SuggestionResponse.PostbackData
	}
	return t, content, t.EventID != ""
}

// words returns what the person wrote, or the words of the suggestion that was
// tapped; "" where it is a file or a place.
func (e event) words() string {
	if tap := e.SuggestionResponse; tap != nil {
		return cmp.Or(tap.Text, tap.PostbackData)
	}
	return e.Text
}

// at returns when the event happened, or now where it does not tell or tells a
// time to come.
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

// blobKey names an event's content. The provider knows an event by its id and
// the number, and so an event that comes again is written to the same place.
func blobKey(agent, eventID, phone string) string {
	sum := sha256.Sum256([]byte(eventID + "\n" + phone))
	return "events/" + agent + "/" + base64.RawURLEncoding.EncodeToString(sum[:])
}
