package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/random"
)

// TemplateForm is a template as an operator enters it: a text or a card.
type TemplateForm struct {
	Tenant string
	// ID is the template to add a version to, or empty for a new template.
	ID   string
	Name string // empty keeps the template's name
	Text string
	Card []byte // the JSON of a campaign.Card, with no other members
}

// SaveTemplate writes a new template, or a new version of one, and returns it. Versions
// never change: batches keep the version that they were dispatched with.
func (d *Service) SaveTemplate(ctx context.Context, form TemplateForm) (campaign.Template, error) {
	t := campaign.Template{Tenant: form.Tenant, ID: strings.ToLower(form.ID), Name: form.Name, Text: form.Text}
	if err := readCard(&t, form.Card); err != nil {
		return t, err
	}
	return d.KeepTemplate(ctx, t)
}

// KeepTemplate is SaveTemplate for a parsed card. It sets Version and CreatedAt.
func (d *Service) KeepTemplate(ctx context.Context, t campaign.Template) (campaign.Template, error) {
	if err := d.requireTenant(ctx, t.Tenant); err != nil {
		return t, err
	}
	if err := d.identify(ctx, &t); err != nil {
		return t, err
	}
	if err := checkTemplate(t); err != nil {
		return t, err
	}
	return d.Store.PutTemplate(ctx, t)
}

// identify sets the ID of a new template, and a default name. For an existing template
// it sets the name and checks that the tenant owns it.
func (d *Service) identify(ctx context.Context, t *campaign.Template) error {
	if t.ID == "" {
		t.ID = random.UUID()
		if t.Name == "" {
			t.Name = "Template " + t.ID[:8]
		}
		return nil
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
		return errors.New("give either a text or a card")
	}
	if !utf8.Valid(document) {
		return errors.New("the card is not valid UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&t.Card); err != nil {
		return fmt.Errorf("invalid card, it must be a JSON object with title, description, mediaUrl and suggestions: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("the card's file contains more than one JSON object")
	}
	if t.Card == nil {
		return errors.New("the card is null: it must be a JSON object with title, description, mediaUrl and suggestions")
	}
	return nil
}

// checkTemplate returns the first error of a template.
func checkTemplate(t campaign.Template) error {
	for _, flaw := range t.Flaws() {
		return errors.New(describe(flaw))
	}
	return nil
}

// describe returns a one-line error for a flaw.
func describe(f campaign.Flaw) string {
	what := parts[f.Part]
	if f.Index > 0 {
		what += " " + strconv.Itoa(f.Index)
	}
	switch f.Code {
	case campaign.FlawBlank:
		return blank(f.Part, what)
	case campaign.FlawTooLong:
		return fmt.Sprintf("the %s has %d characters without its variables: %d at most", what, f.Have, f.Most)
	case campaign.FlawTooWordy:
		return fmt.Sprintf("the %s has %d characters with its variables: %d at most", what, f.Have, f.Most)
	case campaign.FlawTooMany:
		return fmt.Sprintf("there are %d %ss: %d at most", f.Have, strings.TrimPrefix(what, "card's "), f.Most)
	case campaign.FlawBraces:
		return "the " + what + " contains {{ or }} outside a variable: write {{name}} with letters, digits and . _ - only"
	case campaign.FlawNotHTTPS:
		return "the " + what + " does not start with https://"
	case campaign.FlawControl:
		return "the " + what + " contains NUL or another control character: remove it"
	case campaign.FlawEncoding:
		return "the " + what + " is not valid UTF-8"
	}
	return "the " + what + " cannot be used"
}

func blank(part campaign.TemplatePart, what string) string {
	switch part { //nolint:exhaustive // no other part can be missing
	case campaign.PartText:
		return "the template is blank: give it a text or a card"
	case campaign.PartCard:
		return "the card is blank: give it a title, a description or a mediaUrl"
	}
	return "the " + what + " is blank"
}

var parts = map[campaign.TemplatePart]string{
	campaign.PartName: "template's name", campaign.PartText: "text", campaign.PartCard: "card", campaign.PartTitle: "card's title",
	campaign.PartDescription: "card's description", campaign.PartMedia: "card's mediaUrl", campaign.PartSuggestion: "card's suggestion",
	campaign.PartVariables: "variable",
}
