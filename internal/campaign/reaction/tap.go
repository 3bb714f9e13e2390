package reaction

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"

	"campaign-dispatch/internal/campaign"
)

// TapKeySize is the size of a batch's TapKey in bytes.
const TapKeySize = 16

// postbackVersion starts the postback data of this service. No suggestion's text has the
// form of Postback, because a text has at most 25 characters.
const postbackVersion = "t"

// The sizes of the parts of postback data: key, index and suggestion, then their MAC.
const (
	tapSize = campaign.MessageSize + 1
	macSize = 8
)

// Tap identifies a suggestion of a message. Suggestion counts from 1, see content.AllSuggestions.
type Tap struct {
	Key        campaign.BatchKey
	Index      int
	Suggestion int
}

// TapProof authenticates a Tap, see ProvesTap.
type TapProof [macSize]byte

// Postback returns the postback data of a suggestion of the batch's message to a phone
// number. A recipient can send any postback data, so a MAC covers all of it and the number.
// It is ASCII of 29 characters.
func Postback(b campaign.Batch, index, suggestion int, phone string) string {
	tap := Tap{b.Key, index, suggestion}
	proof := tap.proof(b.TapKey, phone)
	return postbackVersion + base64.RawURLEncoding.EncodeToString(append(tap.pack(), proof[:]...))
}

// Postbacks returns the function for outgoing.Message.Postback, nil if the batch has no TapKey.
func Postbacks(b campaign.Batch, index int, phone string) func(suggestion int) string {
	if len(b.TapKey) == 0 {
		return nil
	}
	return func(suggestion int) string { return Postback(b, index, suggestion, phone) }
}

func (t Tap) pack() []byte {
	packed := t.Key.AppendMessage(make([]byte, 0, tapSize+macSize), t.Index)
	return append(packed, byte(t.Suggestion)) //nolint:gosec // fewer than 64
}

func (t Tap) proof(key []byte, phone string) (proof TapProof) {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write(t.pack())
	_, _ = mac.Write([]byte(phone))
	copy(proof[:], mac.Sum(nil))
	return proof
}

// ParsePostback parses the result of Postback. It returns false for other postback data.
func ParsePostback(postback string) (tap Tap, proof TapProof, ok bool) {
	if len(postback) != len(postbackVersion)+base64.RawURLEncoding.EncodedLen(tapSize+macSize) || postback[:1] != postbackVersion {
		return tap, proof, false
	}
	packed, err := base64.RawURLEncoding.DecodeString(postback[1:])
	if err != nil || len(packed) != tapSize+macSize { // the decoder ignores line breaks
		return tap, proof, false
	}
	tap.Key, tap.Index = campaign.UnpackMessage(packed)
	tap.Suggestion = int(packed[tapSize-1])
	copy(proof[:], packed[tapSize:])
	return tap, proof, true
}

// ProvesTap reports whether the batch's sender made the postback data for a message to the phone number.
func ProvesTap(b campaign.Batch, tap Tap, proof TapProof, phone string) bool {
	want := tap.proof(b.TapKey, phone)
	return len(b.TapKey) > 0 && tap.Key == b.Key && tap.Index < b.Accepted && hmac.Equal(proof[:], want[:])
}

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
	link.Key, link.Index = campaign.UnpackMessage(packed)
	link.Suggestion = int(packed[tapSize-1])
	copy(proof[:], packed[tapSize:])
	return link, proof, true
}

// ProvesLink reports whether the batch's sender made the link.
func ProvesLink(b campaign.Batch, link Link, proof LinkProof) bool {
	want := link.proof(b.TapKey)
	return len(b.TapKey) > 0 && link.Key == b.Key && link.Index < b.Accepted && hmac.Equal(proof[:], want[:])
}
