package bench

import (
	"fmt"
	"testing"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
)

// BenchmarkCarousel accepts 2,000 messages of a carousel with ten variables, and of a text
// with the same ten.
func BenchmarkCarousel(b *testing.B) {
	key := newBenchKey(b)
	call := eventOf(b, key.token(b), "1", mobiles(newRandom(), campaign.MaxMessages), tenVariables)
	text, carousel := newInstantOf(tenVariableText()), newInstantOf(tenVariableCarousel())
	p := compare(
		func() { accept(b, handler(carousel, key), call) },
		func() { accept(b, handler(text, key), call) }, 5, 5,
	)
	record(b, compared("accepting 2,000 messages of a carousel", p, 1.3,
		"CPU with ten variables in four cards and six suggestions, against a text with the same ten"))
	record(b, measured("payload of 2,000 messages of a carousel", float64(carousel.stored)/float64(text.stored), "× a text's", 1.3,
		"bytes of all the payloads stored in the same run"))
}

func newInstantOf(c content.Content) *instant {
	return &instant{forget: true, template: campaign.Template{ID: templateID, Tenant: tenantID, Version: 1, Content: c}}
}

func tenVariables(n uint64) map[string]any {
	all := map[string]any{}
	for i := range 10 {
		all[fmt.Sprintf("v%d", i)] = fmt.Sprintf("valor %d de %d", i, n%1_000_000)
	}
	return all
}

func tenVariableText() content.Content {
	return content.Content{Text: "{{v0}}, {{v1}}, {{v2}}, {{v3}}, {{v4}}, {{v5}}, {{v6}}, {{v7}}, {{v8}} e {{v9}}."}
}

func tenVariableCarousel() content.Content {
	cards := make([]content.Card, 4)
	for i := range cards {
		cards[i] = content.Card{
			Title:       fmt.Sprintf("Oferta {{v%d}}", i),
			Description: fmt.Sprintf("Só hoje, por {{v%d}}.", i+4),
			Media:       &content.Media{URL: "https://loja.example/{{v8}}.png", Height: content.Short},
			Suggestions: []content.Suggestion{{Kind: content.OpenURL, Text: "Ver", URL: "https://loja.example/?c={{v9}}"}},
		}
	}
	return content.Content{
		Carousel:    &content.Carousel{Width: content.SmallWidth, Cards: cards},
		Suggestions: []content.Suggestion{{Kind: content.Reply, Text: "Sim"}, {Kind: content.Reply, Text: "Não"}},
	}
}
