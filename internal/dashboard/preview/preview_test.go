package preview_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dashboard/preview"
)

// key stands for its text.
func key(key string) string { return key }

// of returns the preview of a content of which all is shown.
func of(c content.Content, label string, word func(string) string) preview.Phone {
	return preview.Writer{Word: word, Text: key, URL: key}.Phone(c, label)
}

func words() preview.Words {
	return preview.Words{Dark: "phone.dark", Carousel: "phone.carousel", Broken: "phone.broken"}
}

func text(s string) []preview.Piece { return []preview.Piece{{Text: s}} }

func TestText_MarksVariables(t *testing.T) {
	t.Parallel()
	got := of(content.Content{Text: "Olá {{ nome }}, {{x"}, "label", key)
	want := preview.Phone{Label: "label", Words: words(), Text: []preview.Piece{{Text: "Olá "}, {Text: "nome", Variable: true}, {Text: ", {{x"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("phone (-want +got):\n%s", diff)
	}
}

func TestMedia(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		media content.Media
		want  *preview.Media
	}{
		"none":  {content.Media{}, nil},
		"image": {content.Media{URL: "https://e.example/a"}, &preview.Media{Kind: "image", Word: "phone.image", URL: "https://e.example/a"}},
		"description": {
			content.Media{URL: "https://e.example/a", ContentDescription: "Um tênis"},
			&preview.Media{Kind: "image", Word: "phone.image", Text: "Um tênis", URL: "https://e.example/a"},
		},
		"plain http":         {content.Media{URL: "http://e.example/a"}, &preview.Media{Kind: "image", Word: "phone.image"}},
		"variable":           {content.Media{URL: "{{foto}}"}, &preview.Media{Kind: "image", Word: "phone.image"}},
		"variable, escaped":  {content.Media{URL: "https://e.example/%7B%7Bx%7D%7D"}, &preview.Media{Kind: "image", Word: "phone.image"}},
		"broken variable":    {content.Media{URL: "https://e.example/{{x"}, &preview.Media{Kind: "image", Word: "phone.image"}},
		"video":              {content.Media{URL: "https://e.example/a.MP4?b=1", Height: content.Tall}, &preview.Media{Kind: "video", Word: "phone.video", Height: content.Tall}},
		"video, thumbnail":   {content.Media{URL: "https://e.example/a.mp4", ThumbnailURL: "https://e.example/a.png"}, &preview.Media{Kind: "video", Word: "phone.video", URL: "https://e.example/a.png"}},
		"variable thumbnail": {content.Media{URL: "https://e.example/a.mp4", ThumbnailURL: "https://e.example/{{x}}"}, &preview.Media{Kind: "video", Word: "phone.video"}},
	} {
		got := of(content.Content{Card: &content.Card{Media: &test.media}}, "", key)
		if diff := cmp.Diff(test.want, got.Cards[0].Media); diff != "" || got.Empty() != (test.want == nil) {
			t.Errorf("%s: empty %v (-want +got):\n%s", name, got.Empty(), diff)
		}
	}
}

func TestFile(t *testing.T) {
	t.Parallel()
	got := of(content.Content{File: &content.File{URL: "https://e.example/regras/Regras.pdf"}}, "", key)
	want := preview.Phone{Words: words(), File: &preview.Media{Kind: "document", Word: "phone.document", Name: "Regras.pdf", Height: content.Medium}}
	if diff := cmp.Diff(want, got); diff != "" || got.Empty() {
		t.Errorf("phone (-want +got):\n%s", diff)
	}
}

func TestCarousel(t *testing.T) {
	t.Parallel()
	got := of(content.Content{
		Carousel: &content.Carousel{Width: content.SmallWidth, Cards: []content.Card{
			{Title: "A", Suggestions: []content.Suggestion{{Kind: content.OpenURL, Text: "Ver", URL: "https://e.example/"}}}, {Description: "B"},
		}},
		Suggestions: content.Replies("Sair"),
	}, "", key)
	want := preview.Phone{
		Words: words(), Carousel: true, Small: true,
		Cards: []preview.Card{
			{Title: text("A"), Suggestions: []preview.Suggestion{{Kind: content.OpenURL, Word: "phone.openUrl", Text: text("Ver")}}}, {Description: text("B")},
		},
		Suggestions: []preview.Suggestion{{Kind: content.Reply, Text: text("Sair")}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("phone (-want +got):\n%s", diff)
	}
}

func TestCard_Sides(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		card content.Card
		want string
	}{
		"vertical":              {content.Card{Media: &content.Media{URL: "https://e.example/"}}, ""},
		"left":                  {content.Card{Horizontal: true, Media: &content.Media{URL: "https://e.example/"}}, "left"},
		"right":                 {content.Card{Horizontal: true, MediaRight: true, Media: &content.Media{URL: "https://e.example/"}}, "right"},
		"beside nothing to see": {content.Card{Horizontal: true, Title: "A"}, ""},
	} {
		if got := of(content.Content{Card: &test.card}, "", key); got.Cards[0].Side != test.want {
			t.Errorf("%s: %q", name, got.Cards[0].Side)
		}
	}
}

// The suggestions of all cards are counted before those below the message.
func TestAnnotate(t *testing.T) {
	t.Parallel()
	c := content.Content{
		Carousel:    &content.Carousel{Cards: []content.Card{{Suggestions: content.Replies("A", "B")}, {}, {Suggestions: content.Replies("C")}}},
		Suggestions: content.Replies("D"),
	}
	got := of(c, "", key)
	got.Annotate(func(n int) string { return c.AllSuggestions()[n-1].Text })
	var texts []string
	for _, all := range [][]preview.Suggestion{got.Cards[0].Suggestions, got.Cards[2].Suggestions, got.Suggestions} {
		for _, s := range all {
			texts = append(texts, fmt.Sprint(s.Text[0].Text, s.Note.Number, s.Note.Text))
		}
	}
	if diff := cmp.Diff([]string{"A1A", "B2B", "C3C", "D4D"}, texts); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}
