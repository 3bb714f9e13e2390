package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"campaign-dispatch/internal/campaign"
)

// What the provider takes, in characters.
const (
	maxText        = 3072
	maxTitle       = 200
	maxDescription = 2000
	maxSuggestion  = 25
	maxSuggestions = 4
)

// TemplateForm describes a template as an operator enters it: a text or a card.
type TemplateForm struct {
	Tenant string
	// ID names the template of which this is a new version, empty for a new
	// template.
	ID   string
	Name string // empty keeps the name that the template has
	Text string
	Card []byte // the JSON of a campaign.Card, with no other members
}

// SaveTemplate writes a new template or a new version of one and returns it. A
// version is never changed: batches keep the one that they were dispatched with.
func (d *Desk) SaveTemplate(ctx context.Context, form TemplateForm) (campaign.Template, error) {
	t := campaign.Template{Tenant: form.Tenant, ID: strings.ToLower(form.ID), Name: form.Name, Text: form.Text}
	if err := readCard(&t, form.Card); err != nil {
		return t, err
	}
	if err := checkTemplate(t); err != nil {
		return t, err
	}
	if err := d.requireTenant(ctx, t.Tenant); err != nil {
		return t, err
	}
	if err := d.identify(ctx, &t); err != nil {
		return t, err
	}
	if err := checkName("template", t.Name); err != nil {
		return t, err
	}
	return d.Store.PutTemplate(ctx, t)
}

// identify gives a new template its ID, and a name where it has none. Of a
// template that exists it takes the name, and makes sure that it is the tenant's.
func (d *Desk) identify(ctx context.Context, t *campaign.Template) error {
	if t.ID == "" {
		id, err := d.uuid()
		if t.ID = id; t.Name == "" {
			t.Name = "Template " + id[:min(8, len(id))]
		}
		return err
	}
	if !uuidForm.MatchString(t.ID) {
		return fmt.Errorf("template id %q is not a UUID: give the id of a template, or none to make a new one", shorten(t.ID))
	}
	current, err := d.Store.Template(ctx, t.ID)
	if errors.Is(err, campaign.ErrNotFound) || (err == nil && current.Tenant != t.Tenant) {
		return missing("tenant " + t.Tenant + " has no template " + t.ID + ": leave out the id to make a new one")
	}
	if t.Name == "" {
		t.Name = current.Name
	}
	return err
}

func readCard(t *campaign.Template, document []byte) error {
	if len(document) == 0 {
		return nil
	}
	if t.Text != "" {
		return errors.New("a template is a text or a card: give one of them")
	}
	if !utf8.Valid(document) {
		return errors.New("the card is not valid UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&t.Card); err != nil {
		return fmt.Errorf("the card is not as it should be, it is a JSON object with title, description, mediaUrl and suggestions: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("the card's file holds more than one JSON object")
	}
	if t.Card == nil {
		return errors.New("the card is null: it is a JSON object with title, description, mediaUrl and suggestions")
	}
	return nil
}

// checkTemplate judges the template as it is with every variable empty; what the
// variables add is judged when they are known.
func checkTemplate(t campaign.Template) error {
	skeleton := t.Render(make([]string, len(t.Variables())))
	if t.Card != nil {
		return checkCard(*t.Card, *skeleton.Card)
	}
	if campaign.Blank(t.Text) {
		return errors.New("the template is blank: give it a text or a card")
	}
	return checkPart("text", skeleton.Text, maxText)
}

func checkCard(card, skeleton campaign.Card) error {
	if campaign.Blank(card.Title + card.Description + card.MediaURL) {
		return errors.New("the card is blank: give it a title, a description or a mediaUrl")
	}
	if err := checkMedia(card.MediaURL); err != nil {
		return err
	}
	for _, part := range []struct {
		what, skeleton string
		most           int
	}{
		{"card's title", skeleton.Title, maxTitle},
		{"card's description", skeleton.Description, maxDescription},
		{"card's mediaUrl", skeleton.MediaURL, maxText},
	} {
		if err := checkPart(part.what, part.skeleton, part.most); err != nil {
			return err
		}
	}
	return checkSuggestions(card.Suggestions, skeleton.Suggestions)
}

func checkSuggestions(suggestions, skeletons []string) error {
	if len(suggestions) > maxSuggestions {
		return fmt.Errorf("the card has %d suggestions: %d at most", len(suggestions), maxSuggestions)
	}
	for i, suggestion := range suggestions {
		what := fmt.Sprintf("card's suggestion %d", i+1)
		if campaign.Blank(suggestion) {
			return fmt.Errorf("the %s is blank", what)
		}
		if err := checkPart(what, skeletons[i], maxSuggestion); err != nil {
			return err
		}
	}
	return nil
}

func checkMedia(address string) error {
	if address == "" || strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "{{") {
		return nil
	}
	return errors.New("the card's mediaUrl does not begin with https://")
}

// checkPart judges one text of a template in which every variable is empty.
func checkPart(what, skeleton string, most int) error {
	n := utf8.RuneCountInString(skeleton)
	switch {
	case !utf8.ValidString(skeleton):
		return fmt.Errorf("the %s is not valid UTF-8", what)
	case strings.ContainsRune(skeleton, 0):
		return fmt.Errorf("the %s holds a NUL character", what)
	case n > most:
		return fmt.Errorf("the %s has %d characters without its variables: %d at most", what, n, most)
	case strings.Contains(skeleton, "{{") || strings.Contains(skeleton, "}}"):
		return fmt.Errorf("the %s holds {{ or }} that is not a variable: write {{name}} with letters, digits and . _ - only", what)
	}
	return nil
}
