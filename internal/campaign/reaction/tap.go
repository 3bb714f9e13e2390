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

// Tap identifies a suggestion of a message: one that was tapped, or whose clicks are counted. Suggestion counts from 1, see
// content.AllSuggestions.
type Tap struct {
	Key        campaign.BatchKey
	Index      int
	Suggestion int
}

// Postback returns the postback data of a suggestion of the batch's message to a phone
// number. A recipient can send any postback data, so a MAC covers all of it and the number.
// It is ASCII of 29 characters.
func Postback(b campaign.Batch, index, suggestion int, phone string) string {
	tap := Tap{b.Key, index, suggestion}
	return postbackVersion + base64.RawURLEncoding.EncodeToString(append(tap.pack(), tap.proof(b.TapKey, phone, macSize)...))
}

// Postbacks returns the function for outgoing.Message.Postback, nil if the batch has no TapKey.
func Postbacks(b campaign.Batch, index int, phone string) func(suggestion int) string {
	if len(b.TapKey) == 0 {
		return nil
	}
	return func(suggestion int) string { return Postback(b, index, suggestion, phone) }
}

func (t Tap) pack() []byte {
	packed := t.Key.AppendMessage(make([]byte, 0, tapSize+linkProofSize), t.Index)
	return append(packed, byte(t.Suggestion)) //nolint:gosec // fewer than 64
}

// unpack returns the tap of pack, and what follows it.
func unpack(packed []byte) (t Tap, proof []byte) {
	t.Key, t.Index = campaign.UnpackMessage(packed)
	t.Suggestion = int(packed[tapSize-1])
	return t, packed[tapSize:]
}

// proof returns a MAC of the tap and of a text, in size bytes.
func (t Tap) proof(key []byte, text string, size int) []byte {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write(t.pack())
	_, _ = mac.Write([]byte(text))
	return mac.Sum(nil)[:size]
}

// proven reports whether a proof is that of a suggestion of the batch's messages.
func (t Tap) proven(b campaign.Batch, proof []byte, text string, size int) bool {
	return len(b.TapKey) > 0 && t.Key == b.Key && t.Index < b.Accepted && hmac.Equal(proof, t.proof(b.TapKey, text, size))
}

// ParsePostback parses the result of Postback. It returns false for other postback data. proof is for ProvesTap.
func ParsePostback(postback string) (tap Tap, proof []byte, ok bool) {
	if len(postback) != len(postbackVersion)+base64.RawURLEncoding.EncodedLen(tapSize+macSize) || postback[:1] != postbackVersion {
		return tap, nil, false
	}
	packed, err := base64.RawURLEncoding.DecodeString(postback[1:])
	if err != nil || len(packed) != tapSize+macSize { // the decoder ignores line breaks
		return tap, nil, false
	}
	tap, proof = unpack(packed)
	return tap, proof, true
}

// ProvesTap reports whether the batch's sender made the postback data for a message to the phone number.
func ProvesTap(b campaign.Batch, tap Tap, proof []byte, phone string) bool {
	return tap.proven(b, proof, phone, macSize)
}

// LinkPath is the path of the links that count clicks, before their token.
const LinkPath = "/l/"

const (
	// linkProofSize is the size of a token's MAC: 80 bits cannot be guessed.
	linkProofSize = 10
	// linkText differs from the text of the MAC of a Postback, a phone number: that starts with "+".
	linkText = "link"
)

// LinkToken returns the token of a suggestion of the batch's message: the batch, the message
// and the suggestion, and a MAC with the batch's TapKey. It is 31 URL-safe characters.
func LinkToken(b campaign.Batch, index, suggestion int) string {
	link := Tap{b.Key, index, suggestion}
	return base64.RawURLEncoding.EncodeToString(append(link.pack(), link.proof(b.TapKey, linkText, linkProofSize)...))
}

// Links returns the function that returns the link of a suggestion of the batch's message,
// nil without a base URL or a TapKey: suggestions keep their URLs then.
func Links(b campaign.Batch, baseURL string, index int) func(suggestion int) string {
	if baseURL == "" || len(b.TapKey) == 0 {
		return nil
	}
	return func(suggestion int) string { return baseURL + LinkPath + LinkToken(b, index, suggestion) }
}

// ParseLinkToken parses the result of LinkToken. It returns false for other texts. proof is for ProvesLink.
func ParseLinkToken(token string) (link Tap, proof []byte, ok bool) {
	packed, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(packed) != tapSize+linkProofSize || base64.RawURLEncoding.EncodeToString(packed) != token {
		return link, nil, false
	}
	link, proof = unpack(packed)
	return link, proof, true
}

// ProvesLink reports whether the batch's sender made the link.
func ProvesLink(b campaign.Batch, link Tap, proof []byte) bool {
	return link.proven(b, proof, linkText, linkProofSize)
}
