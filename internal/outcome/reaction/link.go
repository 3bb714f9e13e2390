package reaction

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"

	"campaign-dispatch/internal/campaign"
)

// LinkPath is the path of the links that count clicks, before their token.
const LinkPath = "/l/"

// linkProofSize is the size of a token's MAC: 80 bits cannot be guessed.
const linkProofSize = 10

// LinkProof authenticates a Link, see ProvesLink.
type LinkProof [linkProofSize]byte

// Link identifies a suggestion of a message whose clicks are counted. Suggestion counts from
// 1, see content.AllSuggestions.
type Link struct {
	Key        campaign.BatchKey
	Index      int
	Suggestion int
}

// LinkToken returns the token of a suggestion of the batch's message: the batch, the message
// and the suggestion, and a MAC with the batch's TapKey. It is 31 URL-safe characters.
func LinkToken(b campaign.Batch, index, suggestion int) string {
	link := Link{b.Key, index, suggestion}
	proof := link.proof(b.TapKey)
	return base64.RawURLEncoding.EncodeToString(append(link.pack(), proof[:]...))
}

// Links returns the function that returns the link of a suggestion of the batch's message,
// nil without a base URL or a TapKey: suggestions keep their URLs then.
func Links(b campaign.Batch, baseURL string, index int) func(suggestion int) string {
	if baseURL == "" || len(b.TapKey) == 0 {
		return nil
	}
	return func(suggestion int) string { return baseURL + LinkPath + LinkToken(b, index, suggestion) }
}

func (l Link) pack() []byte { return Tap(l).pack() }

// proof differs from the proof of a Tap, which covers a phone number: that starts with "+".
func (l Link) proof(key []byte) (proof LinkProof) {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write(l.pack())
	_, _ = mac.Write([]byte("link"))
	copy(proof[:], mac.Sum(nil))
	return proof
}

// ParseLinkToken parses the result of LinkToken. It returns false for other texts.
func ParseLinkToken(token string) (link Link, proof LinkProof, ok bool) {
	packed, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(packed) != tapSize+linkProofSize || base64.RawURLEncoding.EncodeToString(packed) != token {
		return link, proof, false
	}
	copy(link.Key[:], packed)
	link.Index = int(binary.BigEndian.Uint16(packed[len(link.Key):]))
	link.Suggestion = int(packed[tapSize-1])
	copy(proof[:], packed[tapSize:])
	return link, proof, true
}

// ProvesLink reports whether the batch's sender made the link.
func ProvesLink(b campaign.Batch, link Link, proof LinkProof) bool {
	want := link.proof(b.TapKey)
	return len(b.TapKey) > 0 && link.Key == b.Key && link.Index < b.Accepted && hmac.Equal(proof[:], want[:])
}
