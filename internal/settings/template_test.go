package settings_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/settings"
)

func TestSaveTemplate_Versions(t *testing.T) {
	t.Parallel()
	b, ctx := newBench(t), t.Context()
	first, err := b.SaveTemplate(ctx, settings.TemplateForm{Tenant: b.tenant, Text: "Olá {{nome}}, {{ pedido }} e {{nome}}"})
	if err != nil {
		t.Fatal(err)
	}
	want := campaign.Template{ID: first.ID, Tenant: b.tenant, Version: 1, Name: "Template " + first.ID[:8], Content: content.Content{Text: "Olá {{nome}}, {{ pedido }} e {{nome}}"}, CreatedAt: now}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("first version (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"nome", "pedido"}, first.Variables()); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
	card := []byte(`{"title":"{{nome}}","description":"d","mediaUrl":"https://e.example/{{nome}}.png","suggestions":["Sim","Não"]}`)
	if _, err := b.SaveTemplate(ctx, settings.TemplateForm{Tenant: b.tenant, ID: strings.ToUpper(first.ID), Card: card}); err != nil {
		t.Fatal(err)
	}
	current, err := b.store.Template(ctx, first.ID)
	want.Version, want.Text = 2, ""
	want.Card = &content.Card{Title: "{{nome}}", Description: "d", Media: &content.Media{URL: "https://e.example/{{nome}}.png"}, Suggestions: content.Replies("Sim", "Não")}
	if diff := cmp.Diff(want, current); diff != "" || err != nil {
		t.Errorf("second version %v (-want +got):\n%s", err, diff)
	}
	old, err := b.store.TemplateVersion(ctx, first.ID, 1)
	if diff := cmp.Diff(first, old); diff != "" || err != nil {
		t.Errorf("the first version changed: %v (-want +got):\n%s", err, diff)
	}
}

func TestSaveTemplate_Limits(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, form := range map[string]settings.TemplateForm{
		"text":         {Text: strings.Repeat("ç", 3072) + "{{a_long_variable}}"},
		"one variable": {Text: "{{corpo}}"},
		"title":        {Card: []byte(`{"title":"` + strings.Repeat("😀", 200) + `"}`)},
		"description":  {Card: []byte(`{"description":"` + strings.Repeat("é", 2000) + `"}`)},
		"suggestions":  {Card: []byte(`{"title":"t","suggestions":["1234567890123456789012345","b","c","d"]}`)},
		"media":        {Card: []byte(`{"mediaUrl":"{{foto}}"}`)},
	} {
		form.Tenant = b.tenant
		if _, err := b.SaveTemplate(t.Context(), form); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSaveTemplate_Refused(t *testing.T) {
	t.Parallel()
	b, other := newBench(t), newBench(t)
	theirs, err := other.SaveTemplate(t.Context(), settings.TemplateForm{Tenant: other.tenant, Text: "t"})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		form settings.TemplateForm
		says string
	}{
		"nothing":               {settings.TemplateForm{}, "no text, card"},
		"blank":                 {settings.TemplateForm{Text: " \n"}, "no text, card"},
		"long text":             {settings.TemplateForm{Text: strings.Repeat("x", 3073)}, "3073 characters"},
		"text not UTF-8":        {settings.TemplateForm{Text: "a\xff"}, "UTF-8"},
		"text with NUL":         {settings.TemplateForm{Text: "a\x00"}, "control character"},
		"open variable":         {settings.TemplateForm{Text: "Olá {{nome"}, "{{"},
		"variable with a space": {settings.TemplateForm{Text: "Olá {{nome completo}}"}, "{{"},
		"variable without name": {settings.TemplateForm{Text: "Olá {{}}"}, "{{"},
		"text and card":         {settings.TemplateForm{Text: "a", Card: []byte(`{"title":"t"}`)}, "a text, a card or a content"},
		"card not JSON":         {settings.TemplateForm{Card: []byte(`{"title":`)}, "card"},
		"card null":             {settings.TemplateForm{Card: []byte(`null`)}, "null"},
		"card of numbers":       {settings.TemplateForm{Card: []byte(`{"title":5}`)}, "title"},
		"card, unknown member":  {settings.TemplateForm{Card: []byte(`{"titel":"t"}`)}, "titel"},
		"card, two objects":     {settings.TemplateForm{Card: []byte(`{"title":"t"}{"title":"t"}`)}, "more than one"},
		"card not UTF-8":        {settings.TemplateForm{Card: []byte("{\"title\":\"\xff\"}")}, "UTF-8"},
		"card empty":            {settings.TemplateForm{Card: []byte(`{}`)}, "must have a title"},
		"card, long title":      {settings.TemplateForm{Card: []byte(`{"title":"` + strings.Repeat("t", 201) + `"}`)}, "title: has 201"},
		"card, long text":       {settings.TemplateForm{Card: []byte(`{"description":"` + strings.Repeat("t", 2001) + `"}`)}, "description: has 2001"},
		"card, plain media":     {settings.TemplateForm{Card: []byte(`{"mediaUrl":"http://e.example/a.png"}`)}, "https://"},
		"card, suggestions":     {settings.TemplateForm{Card: []byte(`{"title":"t","suggestions":["a","b","c","d","e"]}`)}, "5 suggestions"},
		"wordy":                 {settings.TemplateForm{Text: strings.Repeat("{{a}}", 2000)}, "10000 characters with the names of its variables"},
		"variables":             {settings.TemplateForm{Text: variables(51)}, "there are 51 variables, at most 50"},
		"card, suggestion":      {settings.TemplateForm{Card: []byte(`{"title":"t","suggestions":["` + strings.Repeat("a", 26) + `"]}`)}, "suggestion 1: has 26"},
		"card, no suggestion":   {settings.TemplateForm{Card: []byte(`{"title":"t","suggestions":[" "]}`)}, "suggestion 1: must not be blank"},
		"tenant not known":      {settings.TemplateForm{Tenant: randomID(), Text: "a"}, "does not exist"},
		"tenant not an id":      {settings.TemplateForm{Tenant: "A#", Text: "a"}, "tenant id"},
		"id not a UUID":         {settings.TemplateForm{ID: "{x}", Text: "a"}, "UUID"},
		"id not known":          {settings.TemplateForm{ID: "6f1f8a52-3c0b-4d7e-9b59-ffffffffffff", Text: "a"}, "has no template"},
		"id of another tenant":  {settings.TemplateForm{ID: theirs.ID, Text: "a"}, "has no template"},
		"blank name":            {settings.TemplateForm{Name: " ", Text: "a"}, "blank"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.form.Tenant == "" {
				test.form.Tenant = b.tenant
			}
			_, err := b.SaveTemplate(t.Context(), test.form)
			refused(t, err, test.says)
		})
	}
	t.Cleanup(func() {
		if current, err := other.store.Template(context.Background(), theirs.ID); err != nil || current.Version != 1 {
			t.Errorf("the other tenant's template is %+v, %v", current, err)
		}
	})
}

func TestService_NotFound(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := b.SaveTemplate(t.Context(), settings.TemplateForm{Tenant: randomID(), Text: "a"})
	if !errors.Is(err, campaign.ErrNotFound) {
		t.Errorf("got %v, want campaign.ErrNotFound", err)
	}
}

// variables returns a text with n variables.
func variables(n int) string {
	var text strings.Builder
	for i := range n {
		text.WriteString("{{v" + strconv.Itoa(i) + "}}")
	}
	return text.String()
}
