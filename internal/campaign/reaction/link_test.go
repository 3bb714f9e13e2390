package reaction_test

import (
	"encoding/base64"
	"regexp"
	"testing"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
)

// provesLink reports whether the batch accepts the token.
func provesLink(b campaign.Batch, token string) bool {
	link, proof, ok := reaction.ParseLinkToken(token)
	return ok && reaction.ProvesLink(b, link, proof)
}

func TestLinkToken(t *testing.T) {
	t.Parallel()
	b := tapBatch()
	token := reaction.LinkToken(b, 1999, 51)
	link, _, ok := reaction.ParseLinkToken(token)
	if want := (reaction.Tap{Key: b.Key, Index: 1999, Suggestion: 51}); !ok || link != want || !provesLink(b, token) {
		t.Errorf("%q is the link %v, want %v", token, link, want)
	}
	if !regexp.MustCompile(`^[A-Za-z0-9_-]{31}$`).MatchString(token) {
		t.Errorf("the token %q is not 31 URL-safe characters", token)
	}
	if got, want := reaction.Links(b, "https://l.example", 1999)(51), "https://l.example/l/"+token; got != want {
		t.Errorf("link %q, want %q", got, want)
	}
}

// 80 bits cannot be guessed, so nothing but the token that was sent is accepted.
func TestLinkToken_Forged(t *testing.T) {
	t.Parallel()
	b := tapBatch()
	token := reaction.LinkToken(b, 7, 2)
	packed, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		t.Fatal(err)
	}
	for bit := range 8 * len(packed) {
		forged := append([]byte{}, packed...)
		forged[bit/8] ^= 1 << (bit % 8)
		if provesLink(b, base64.RawURLEncoding.EncodeToString(forged)) {
			t.Errorf("a link with a changed bit %d is accepted", bit)
		}
	}
	for _, other := range []string{"", token[:30], token + "A", token + "\n", token[:30] + string(token[30]+1), reaction.Postback(b, 7, 2, tapper)} {
		if provesLink(b, other) {
			t.Errorf("%q is accepted", other)
		}
	}
	for name, change := range map[string]func(*campaign.Batch){
		"another batch's":   func(b *campaign.Batch) { b.Key[9]++ },
		"with another key":  func(b *campaign.Batch) { b.TapKey = []byte("another 16 bytes") },
		"without a key":     func(b *campaign.Batch) { b.TapKey = nil },
		"with fewer people": func(b *campaign.Batch) { b.Accepted = 7 },
	} {
		other := b
		change(&other)
		if provesLink(other, token) {
			t.Errorf("the link of a batch %s is accepted", name)
		}
	}
}
