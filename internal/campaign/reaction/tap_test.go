package reaction_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/phone/e164"
)

const tapper = "+5511900000000"

func tapBatch() campaign.Batch {
	return campaign.Batch{Key: campaign.BatchKey{1, 2, 3}, Accepted: 2000, TapKey: []byte("sixteen bytes...")}
}

// proves reports whether the batch accepts a tap with the postback data from the number.
func proves(b campaign.Batch, postback, phone string) bool {
	tap, proof, ok := reaction.ParsePostback(postback)
	return ok && reaction.ProvesTap(b, tap, proof, phone)
}

func TestPostback(t *testing.T) {
	t.Parallel()
	b := tapBatch()
	postback := reaction.Postback(b, 1999, 51, tapper)
	tap, _, ok := reaction.ParsePostback(postback)
	if want := (reaction.Tap{Key: b.Key, Index: 1999, Suggestion: 51}); !ok || tap != want || !proves(b, postback, tapper) {
		t.Errorf("%q is the tap %v, want %v", postback, tap, want)
	}
	if len(postback) <= content.MaxSuggestion || len(postback) > 32 {
		t.Errorf("%q has %d characters, want a short one that cannot be a suggestion's text", postback, len(postback))
	}
}

func TestPostback_Forged(t *testing.T) {
	t.Parallel()
	b := tapBatch()
	postback := reaction.Postback(b, 7, 2, tapper)
	if proves(b, postback, "+5511900000001") {
		t.Error("a tap of another number is accepted")
	}
	packed, err := base64.RawURLEncoding.DecodeString(postback[1:])
	if err != nil {
		t.Fatal(err)
	}
	for i := range packed {
		forged := append([]byte{}, packed...)
		forged[i] ^= 1
		if proves(b, postback[:1]+base64.RawURLEncoding.EncodeToString(forged), tapper) {
			t.Errorf("a tap with a changed byte %d is accepted", i)
		}
	}
	others := map[string]func(*campaign.Batch){
		"of another batch":  func(b *campaign.Batch) { b.Key[9]++ },
		"with another key":  func(b *campaign.Batch) { b.TapKey = []byte("another 16 bytes") },
		"without a key":     func(b *campaign.Batch) { b.TapKey = nil },
		"with fewer people": func(b *campaign.Batch) { b.Accepted = 7 },
	}
	for name, change := range others {
		other := tapBatch()
		change(&other)
		if proves(other, postback, tapper) {
			t.Errorf("a batch %s accepts the tap", name)
		}
	}
}

func TestParsePostback_Other(t *testing.T) {
	t.Parallel()
	postback := reaction.Postback(tapBatch(), 1, 1, tapper)
	for _, postback := range []string{
		"", "t", "PARAR", "Quero o desconto de verão", "x" + postback[1:], "t!!!!!!!!!!!!!!!!!!!!!!!!!!!!",
		// Base64 decoders ignore line breaks.
		"t" + strings.Repeat("\n", len(postback)-1), "t" + strings.Repeat("\r\n", (len(postback)-1)/2), postback[:25] + "\n\n\n\n",
	} {
		if _, _, ok := reaction.ParsePostback(postback); ok {
			t.Errorf("%q counts as postback data of this service", postback)
		}
	}
}

func TestTapped(t *testing.T) {
	t.Parallel()
	card := func(s ...content.Suggestion) content.Card { return content.Card{Title: "Oferta", Suggestions: s} }
	template := campaign.Template{Content: content.Content{
		Carousel: &content.Carousel{Cards: []content.Card{
			card(content.Suggestion{Kind: content.OpenURL, Text: "Site", URL: "https://example.com/?cliente={{id}}"}),
			card(content.Suggestion{Kind: content.Reply, Text: "Oi, {{name}}"}),
		}},
		Suggestions: content.Replies("Sim"),
	}}
	sent, erased := campaign.Message{Phone: e164.FromText(tapper), Values: []string{"a b", "Ana"}}, campaign.Message{}
	tests := map[string]struct {
		suggestion int
		message    campaign.Message
		want       campaign.TappedSuggestion
	}{
		"a card's link":      {1, sent, campaign.TappedSuggestion{Text: "Site", Kind: content.OpenURL, URL: "https://example.com/?cliente=a+b"}},
		"another card":       {2, sent, campaign.TappedSuggestion{Text: "Oi, Ana", Kind: content.Reply}},
		"below the message":  {3, sent, campaign.TappedSuggestion{Text: "Sim", Kind: content.Reply}},
		"an erased message":  {2, erased, campaign.TappedSuggestion{Text: "Oi, {{name}}", Kind: content.Reply}},
		"an erased link too": {1, erased, campaign.TappedSuggestion{Text: "Site", Kind: content.OpenURL, URL: "https://example.com/?cliente={{id}}"}},
	}
	for name, test := range tests {
		if got := template.Tapped(test.suggestion, test.message); got == nil || *got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
	if got := template.Tapped(4, sent); got != nil {
		t.Errorf("a suggestion that does not exist is %v", got)
	}
}
