package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"

	"campaign-dispatch/internal/base/random"
)

// IdempotencyKey returns the header Idempotency-Key, "" if it was not sent. ok is false if
// it is not 1 to 255 visible ASCII characters.
func IdempotencyKey(h http.Header) (key string, ok bool) {
	values := h.Values("Idempotency-Key")
	if len(values) == 0 {
		return "", true
	}
	hidden := func(c rune) bool { return c <= ' ' || c > '~' }
	if key = values[0]; key == "" || len(key) > 255 || strings.ContainsFunc(key, hidden) {
		return "", false
	}
	return key, true
}

// NewID returns the ID of a new object of a kind: with the header Idempotency-Key, a UUID,
// version 8, which is the same for each call of the client with this key. ok is false if the
// key is invalid.
func NewID(h http.Header, kind, tenant, clientID string) (id string, ok bool) {
	key, ok := IdempotencyKey(h)
	if !ok || key == "" {
		return random.UUID(), ok
	}
	sum := sha256.Sum256([]byte(kind + "\x00" + tenant + "\x00" + clientID + "\x00" + key))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	x := hex.EncodeToString(sum[:16])
	return x[:8] + "-" + x[8:12] + "-" + x[12:16] + "-" + x[16:20] + "-" + x[20:], true
}
