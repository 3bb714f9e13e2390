package dynamo

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
)

// plainCard is the stored form of a vertical card with replies, which the previous version
// reads.
type plainCard struct {
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	MediaURL    string   `json:"mediaUrl,omitempty"`
	Suggestions []string `json:"suggestions,omitempty"` // texts of replies
}

// unreadable is the card attribute of contents that the previous version cannot send. It
// fails to read them and retries, instead of sending an incomplete message.
const unreadable = "[]"

// templateRow returns the row of a template version. The newest version is also stored
// under templateKey. Contents that the previous version can send are stored in its form.
func templateRow(key Item, t campaign.Template) (Item, error) {
	key["tenant"] = text(t.Tenant)
	key["version"] = number(t.Version)
	key["name"] = text(t.Name)
	key["text"] = text(t.Text)
	key["createdAt"] = millis(t.CreatedAt)
	if t.Traffic != "" {
		key["traffic"] = text(string(t.Traffic))
	}
	card, plain := plainContent(t.Content)
	switch {
	case plain && card == nil:
		return key, nil
	case plain:
		return putJSON(key, "card", card)
	}
	key["card"] = text(unreadable)
	return putJSON(key, "content", t.Content)
}

func putJSON(row Item, name string, value any) (Item, error) {
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("write the %s of a template: %w", name, err)
	}
	row[name] = text(string(encoded))
	return row, nil
}

// plainContent returns the card of a content in the form of the previous version, nil for a
// text. plain reports whether that form can express the content.
func plainContent(c content.Content) (card *plainCard, plain bool) {
	switch {
	case c.Carousel != nil || c.File != nil || len(c.Suggestions) > 0:
		return nil, false
	case c.Card == nil:
		return nil, true
	case c.Card.Horizontal || !plainMedia(c.Card.Media) || slices.ContainsFunc(c.Card.Suggestions, notReply):
		return nil, false
	}
	card = &plainCard{Title: c.Card.Title, Description: c.Card.Description}
	if c.Card.Media != nil {
		card.MediaURL = c.Card.Media.URL
	}
	for _, s := range c.Card.Suggestions {
		card.Suggestions = append(card.Suggestions, s.Text)
	}
	return card, true
}

func plainMedia(m *content.Media) bool {
	return m == nil || (m.ThumbnailURL == "" && (m.Height == "" || m.Height == content.Medium) && (m.Verbatim || !strings.Contains(m.URL, "{{")))
}

func notReply(s content.Suggestion) bool { return s.Kind != content.Reply }

func readTemplate(id string, row Item) (campaign.Template, error) {
	t := campaign.Template{
		ID:      id,
		Tenant:  getText(row, "tenant"),
		Version: int(getNumber(row, "version")),
		Name:    getText(row, "name"),
		Traffic: campaign.Traffic(getText(row, "traffic")),

		CreatedAt: getMillis(row, "createdAt"),
	}
	if err := readContent(&t.Content, row); err != nil {
		return t, fmt.Errorf("read the content of template %s: %w", id, err)
	}
	return t, nil
}

func readContent(c *content.Content, row Item) error {
	if encoded := getText(row, "content"); encoded != "" {
		return json.Unmarshal([]byte(encoded), c)
	}
	c.Text = getText(row, "text")
	encoded := getText(row, "card")
	if encoded == "" {
		return nil
	}
	var card plainCard
	if err := json.Unmarshal([]byte(encoded), &card); err != nil {
		return err
	}
	c.Card = &content.Card{Title: card.Title, Description: card.Description, Suggestions: content.Replies(card.Suggestions...)}
	if card.MediaURL != "" {
		c.Card.Media = &content.Media{URL: card.MediaURL, Verbatim: true}
	}
	return nil
}
