package settings

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
)

// TemplateForm is a template as an operator enters it: a text or a card.
type TemplateForm struct {
	Tenant string
	// ID is the template to add a version to, or empty for a new template.
	ID   string
	Name string // empty keeps the template's name
	Text string
	Card []byte // JSON: title, description, mediaUrl and suggestions of a vertical card
	// Content is the JSON of a content.Content.
	Content []byte
	Traffic campaign.Traffic
}

// SaveTemplate writes a new template, or a new version of one, and returns it. Versions
// never change: batches keep the version that they were dispatched with.
func (d *Service) SaveTemplate(ctx context.Context, form TemplateForm) (campaign.Template, error) {
	t := campaign.Template{Tenant: form.Tenant, ID: form.ID, Name: form.Name, Traffic: form.Traffic}
	t.Text = form.Text
	if err := readContent(&t, form); err != nil {
		return t, err
	}
	if err := d.prepare(ctx, &t); err != nil {
		return t, err
	}
	return d.Store.Tenants.PutTemplate(ctx, t)
}

// prepare identifies a template and checks it.
func (d *Service) prepare(ctx context.Context, t *campaign.Template) error {
	if err := d.requireTenant(ctx, t.Tenant); err != nil {
		return err
	}
	if err := d.identify(ctx, t); err != nil {
		return err
	}
	for _, flaw := range t.Flaws() {
		return errors.New(describe(flaw))
	}
	return nil
}

// identify sets the ID of a new template, and a default name. For an existing template
// it sets the name and checks that the tenant owns it.
func (d *Service) identify(ctx context.Context, t *campaign.Template) error {
	if t.ID == "" {
		t.ID = random.UUID()
		t.Name = cmp.Or(t.Name, "Template "+t.ID[:8])
		return nil
	}
	id, ok := campaign.ParseUUID(t.ID)
	if !ok {
		return fmt.Errorf("template id %q is not a UUID: give the id of a template, or none to make a new one", shorten(t.ID))
	}
	t.ID = id
	current, err := d.Store.Tenants.Template(ctx, t.ID)
	current, err = campaign.OwnTemplate(t.Tenant, current, err)
	t.Name = cmp.Or(t.Name, current.Name)
	return orMissing(err, "tenant %s has no template %s: leave out the id to make a new one", t.Tenant, t.ID)
}

// plainCard is a vertical card as --card takes it.
type plainCard struct {
	Title       string               `json:"title"`
	Description string               `json:"description"`
	MediaURL    string               `json:"mediaUrl"`
	Suggestions []content.Suggestion `json:"suggestions"` // strings are the texts of replies
}

const (
	cardShape    = "a JSON object with title, description, mediaUrl and suggestions"
	contentShape = "a JSON object with text, card, carousel or file, and suggestions"
)

// readContent reads the form's card or content, if it has one.
func readContent(t *campaign.Template, form TemplateForm) error {
	switch given := [3]bool{form.Text != "", len(form.Card) > 0, len(form.Content) > 0}; given {
	case [3]bool{false, true, false}:
		return readCard(t, form.Card)
	case [3]bool{false, false, true}:
		var c *content.Content
		if err := readObject("content", contentShape, form.Content, &c); err != nil {
			return err
		}
		t.Content = *c
	case [3]bool{}, [3]bool{true, false, false}:
	default:
		return errors.New("give either a text, a card or a content")
	}
	return nil
}

func readCard(t *campaign.Template, document []byte) error {
	var card *plainCard
	if err := readObject("card", cardShape, document, &card); err != nil {
		return err
	}
	t.Card = &content.Card{Title: card.Title, Description: card.Description, Suggestions: card.Suggestions}
	if card.MediaURL != "" {
		t.Card.Media = &content.Media{URL: card.MediaURL}
	}
	return nil
}

// readObject reads one JSON object with no other members than those of T.
func readObject[T any](what, shape string, document []byte, value **T) error {
	if !utf8.Valid(document) {
		return errors.New("the " + what + " is not valid UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(value); err != nil {
		return fmt.Errorf("invalid %s, it must be %s: %w", what, shape, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("the " + what + "'s file contains more than one JSON object")
	}
	if *value == nil {
		return errors.New("the " + what + " is null: it must be " + shape)
	}
	return nil
}

// describe returns a one-line error for a flaw, such as "title of card 1: must not be blank".
func describe(f content.Flaw) string {
	place := string(f.Part)
	switch {
	case f.Suggestion > 0 && f.Part == content.PartSuggestion:
		place += fmt.Sprintf(" %d", f.Suggestion)
	case f.Suggestion > 0:
		place += fmt.Sprintf(" of suggestion %d", f.Suggestion)
	}
	if f.Card > 0 {
		place += fmt.Sprintf(" of card %d", f.Card)
	}
	return place + ": " + campaign.FlawDetail(f)
}
