package webhook

import (
	"io"
	"strings"
	"unicode/utf8"

	"campaign-dispatch/internal/webhook/delivery"
)

const (
	// maxAnswerBytes is the number of bytes of an answer that are kept.
	maxAnswerBytes = 1 << 10
	// maxDrainBytes is the number of response bytes read to keep the connection reusable.
	maxDrainBytes = 16 << 10
)

// readAnswer reads the start of an endpoint's answer and removes the secrets. It reads more
// than it keeps, so that the end of the kept part contains no part of a secret.
func readAnswer(body io.Reader, secrets []string) delivery.EndpointAnswer {
	start, _ := io.ReadAll(io.LimitReader(body, 2*maxAnswerBytes)) // an answer that breaks off is kept as far as it came
	_, _ = io.CopyN(io.Discard, body, maxDrainBytes-2*maxAnswerBytes)
	text := string(start)
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, "…")
	}
	return newAnswer(text)
}

func newAnswer(text string) delivery.EndpointAnswer {
	kept := withoutPartialRune(text[:min(len(text), maxAnswerBytes)])
	if !utf8.ValidString(kept) {
		return delivery.EndpointAnswer{NotText: true}
	}
	return delivery.EndpointAnswer{Text: kept, Cut: len(kept) < len(text)}
}

// withoutPartialRune removes an incomplete character at the end of a text.
func withoutPartialRune(text string) string {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		tail := text[len(text)-n:]
		if !utf8.RuneStart(tail[0]) {
			continue
		}
		if !utf8.FullRuneInString(tail) {
			return text[:len(text)-n]
		}
		break
	}
	return text
}

// secretsOf returns what an endpoint may repeat from a post and nobody may read: its
// signatures and its secrets, also as JSON with escaped slashes.
func secretsOf(e delivery.Endpoint, signature string) (secrets []string) {
	for _, s := range append(strings.Fields(signature), e.Secret, e.PreviousSecret) {
		s = strings.TrimPrefix(strings.TrimPrefix(s, "v1,"), "whsec_")
		if s != "" {
			secrets = append(secrets, s, strings.ReplaceAll(s, "/", `\/`))
		}
	}
	return secrets
}
