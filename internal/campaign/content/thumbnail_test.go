package content_test

import (
	"strings"
	"testing"

	"campaign-dispatch/internal/campaign/content"
)

func TestThumbnail(t *testing.T) {
	t.Parallel()
	image := &content.Media{URL: "https://e.example/a.png"}
	long := "https://e.example/" + strings.Repeat("a", 300)
	for name, test := range map[string]struct {
		content content.Content
		want    content.Thumbnail
	}{
		"text":               {content.Content{Text: "Olá {{nome}}!"}, content.Thumbnail{Words: "Olá nome!"}},
		"long text":          {content.Content{Text: strings.Repeat("ã", 100)}, content.Thumbnail{Words: strings.Repeat("ã", 60)}},
		"card":               {content.Content{Card: &content.Card{Title: "Oi", Media: image}}, content.Thumbnail{URL: image.URL}},
		"card without image": {content.Content{Card: &content.Card{Title: "Oi", Description: "Ana"}}, content.Thumbnail{Words: "Oi Ana"}},
		"second card": {
			content.Content{Carousel: &content.Carousel{Cards: []content.Card{{Title: "A"}, {Title: "B", Media: image}}}}, content.Thumbnail{URL: image.URL},
		},
		"video":                  {content.Content{File: &content.File{URL: "https://e.example/a.mp4"}}, content.Thumbnail{Words: "▶"}},
		"document":               {content.Content{File: &content.File{URL: "https://e.example/a.pdf"}}, content.Thumbnail{Words: "PDF"}},
		"video with a thumbnail": {content.Content{File: &content.File{URL: "https://e.example/a.mp4", ThumbnailURL: image.URL}}, content.Thumbnail{URL: image.URL}},
		"URL with a variable":    {content.Content{Card: &content.Card{Title: "Oi", Media: &content.Media{URL: "https://e.example/{{foto}}"}}}, content.Thumbnail{Words: "Oi"}},
		"long URL":               {content.Content{Card: &content.Card{Title: "Oi", Media: &content.Media{URL: long}}}, content.Thumbnail{Words: "Oi"}},
	} {
		if got := test.content.Thumbnail(); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}
