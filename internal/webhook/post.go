package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/webhook/delivery"
)

// Timeout is the maximum duration of a post.
const Timeout = 15 * time.Second

// Poster posts webhooks.
type Poster struct {
	// HTTP must refuse redirects and non-public addresses and enforce Timeout.
	HTTP *http.Client
	Now  func() time.Time
}

// Result is the result of a post.
type Result struct {
	Delivered  bool
	Status     int           // HTTP status, 0 without a response
	Code       string        // stable error code
	RetryAfter time.Duration // endpoint's Retry-After
	At         time.Time     // start of the post
	Took       time.Duration
	Answer     delivery.EndpointAnswer
}

// Gone reports whether the endpoint asked for no further webhooks (410).
func (result Result) Gone() bool { return result.Status == http.StatusGone }

// Fatal reports whether other messages would fail too: there is no response, or the endpoint asks for a pause.
func (result Result) Fatal() bool {
	return !result.Delivered && (result.Status == 0 || result.RetryAfter > 0)
}

// Post posts a message once. Of addresses and texts, the result contains only the endpoint's answer.
func (p Poster) Post(ctx context.Context, e delivery.Endpoint, m Message) Result {
	now := p.Now()
	result := p.post(ctx, e, m, now)
	result.At, result.Took = now, p.Now().Sub(now)
	return result
}

func (p Poster) post(ctx context.Context, e delivery.Endpoint, m Message, now time.Time) Result {
	signature, err := sign(e, m.ID, now, m.Body)
	if err != nil {
		return Result{Code: "bad_secret"}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, bytes.NewReader(m.Body))
	if err != nil {
		return Result{Code: "bad_address"}
	}
	request.Header = Header(m.ID, now)
	request.Header.Set("Webhook-Signature", signature)
	response, err := p.HTTP.Do(request)
	if err != nil {
		return Result{Code: failureCode(err)}
	}
	defer func() { _ = response.Body.Close() }()
	answer := readAnswer(response.Body, secretsOf(e, signature))
	if response.StatusCode/100 == 2 {
		return Result{Delivered: true, Status: response.StatusCode, Answer: answer}
	}
	return Result{
		Status: response.StatusCode, Answer: answer, Code: "status_" + strconv.Itoa(response.StatusCode),
		RetryAfter: retry.After(response.Header.Get("Retry-After"), now),
	}
}

// Header returns the headers of a post that starts at a time, without the signature.
func Header(webhookID string, at time.Time) http.Header {
	return http.Header{
		"Content-Type": {"application/json"}, "User-Agent": {"campaign-dispatch"},
		"Webhook-Id": {webhookID}, "Webhook-Timestamp": {strconv.FormatInt(at.Unix(), 10)},
	}
}

// Test posts an endpoint.test webhook once and returns the result.
func (p Poster) Test(ctx context.Context, e delivery.Endpoint) (Result, error) {
	began := p.Now()
	m, err := NewMessage(e.ID+" "+strconv.FormatInt(began.UnixNano(), 10), delivery.KindTest, began, Data{})
	if err != nil {
		return Result{}, fmt.Errorf("encode test webhook: %w", err)
	}
	return p.Post(ctx, e, m), nil
}

var errBadSecret = errors.New("invalid endpoint secret: want whsec_ and base64")

// sign returns the webhook-signature header: a symmetric Standard Webhooks signature for each valid secret.
func sign(e delivery.Endpoint, id string, at time.Time, body []byte) (string, error) {
	secrets := []string{e.Secret}
	if e.PreviousSecret != "" && at.Before(e.PreviousUntil) {
		secrets = append(secrets, e.PreviousSecret)
	}
	signatures := make([]string, len(secrets))
	for i, secret := range secrets {
		encoded, ok := strings.CutPrefix(secret, delivery.SecretPrefix)
		key, err := base64.StdEncoding.DecodeString(encoded)
		if !ok || err != nil || len(key) == 0 {
			return "", errBadSecret
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
		mac.Write(body)
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return strings.Join(signatures, " "), nil
}

const (
	maxAnswerBytes = 1 << 10  // number of bytes of an answer that are kept
	maxDrainBytes  = 16 << 10 // number of response bytes read to keep the connection reusable
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
		if tail := text[len(text)-n:]; utf8.RuneStart(tail[0]) && !utf8.FullRuneInString(tail) {
			return text[:len(text)-n]
		}
	}
	return text
}

// secretsOf returns the secret parts of a post that an endpoint may repeat in its answer: the signatures
// and the secrets, also with slashes escaped as in JSON.
func secretsOf(e delivery.Endpoint, signature string) (secrets []string) {
	for _, s := range append(strings.Fields(signature), e.Secret, e.PreviousSecret) {
		s = strings.TrimPrefix(strings.TrimPrefix(s, "v1,"), delivery.SecretPrefix)
		if s != "" {
			secrets = append(secrets, strings.ReplaceAll(s, "/", `\/`), s) // escaped first, because it may contain the other
		}
	}
	return secrets
}
