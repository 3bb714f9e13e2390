// Package random generates secrets and identifiers. The reads of crypto/rand do not fail.
package random

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
)

// Bytes returns n random bytes.
func Bytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never returns an error
	return b
}

// Token returns n random bytes in base64url.
func Token(n int) string { return base64.RawURLEncoding.EncodeToString(Bytes(n)) }

// Hex returns n random bytes in hexadecimal digits.
func Hex(n int) string { return hex.EncodeToString(Bytes(n)) }

// UUID returns a random UUID, version 4.
func UUID() string {
	b := Bytes(16)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
