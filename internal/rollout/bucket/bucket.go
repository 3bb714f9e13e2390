// Package bucket splits people at random, and always in the same way: a number has one bucket in each scope. A scope is
// the name of a split. Buckets of two scopes are independent of each other. docs/api.md has the rule for clients.
package bucket

import (
	"crypto/sha256"
	"encoding/binary"

	"campaign-dispatch/internal/phone/e164"
)

// Count is the number of buckets. They are counted from 0.
const Count = 10_000

// Wave returns the scope that chooses the wave in which a campaign reaches a number.
func Wave(campaignID string) string { return "wave/" + campaignID }

// Of returns the bucket of a number in a scope: the first 8 bytes of SHA-256(scope, line feed, E.164 form with its +) as
// a big-endian number, modulo Count. It allocates nothing if the scope has up to 100 bytes, so a caller with many numbers
// makes the scope once.
func Of(scope string, number e164.Number) int {
	var buffer [128]byte
	text := number.Append(append(append(buffer[:0], scope...), '\n'))
	sum := sha256.Sum256(text)
	return int(binary.BigEndian.Uint64(sum[:8]) % Count)
}
