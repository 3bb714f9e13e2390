// Package bucket splits people at random, and always in the same way: a number has one bucket in each scope. docs/api.md
// has the rule with examples for clients.
package bucket

import (
	"crypto/sha256"
	"encoding/binary"

	"campaign-dispatch/internal/phone/e164"
)

// Count is the number of buckets. They are counted from 0.
const Count = 10_000

// Scope is the name of one split, such as wave/CAMPAIGN. Buckets of two scopes are independent of each other.
type Scope string

// Of returns the bucket of a number: the first 8 bytes of SHA-256(scope, line feed, E.164 form with its +) as a
// big-endian number, modulo Count. It allocates nothing for a scope of up to 100 bytes.
func (s Scope) Of(number e164.Number) int {
	var line [128]byte
	text := append(append(line[:0], s...), '\n')
	sum := sha256.Sum256(number.Append(text))
	return int(binary.BigEndian.Uint64(sum[:8]) % Count) //nolint:gosec // below Count
}

// Of returns the bucket of a number in a scope.
func Of(scope string, number e164.Number) int { return Scope(scope).Of(number) }

// Wave returns the scope that chooses the wave in which a campaign reaches a number.
func Wave(campaignID string) string { return "wave/" + campaignID }
