// Package authrow defines the stored rows of token requests: refresh tokens and the state
// of rate limits.
package authrow

import (
	"slices"
	"time"

	"campaign-dispatch/internal/account"
)

// RefreshToken is the stored form of a refresh token. All tokens that descend from one
// token by rotation form a family. They are revoked together.
type RefreshToken struct {
	Hash     string // SHA-256 of the token, hexadecimal
	Family   string
	ClientID string
	Scope    string // scope of the first grant, space-separated
	// Generation is the credential's RefreshGeneration at the time the client secret was
	// checked.
	Generation int
	Expires    time.Time
	Used       time.Time // when it was exchanged for a new token, zero if unused
}

// Pass is one request that a rate limit admitted. ID is unique.
type Pass struct {
	At time.Time
	ID uint64
}

// Window lists the recent requests that a rate limit admitted, oldest first.
type Window []Pass

// Has reports whether the window contains the pass with the ID.
func (w Window) Has(id uint64) bool {
	return slices.ContainsFunc(w, func(p Pass) bool { return p.ID == id })
}

// Places are the slots of a rate limit. Each slot admits at most one request per period.
// Requests that use different slots do not conflict. A zero Pass is an unused slot.
type Places []Pass

// PlaceIDs is the number of distinct pass IDs of a slot within one millisecond.
const PlaceIDs = 1_000_000

// Pass returns the pass that used slot i.
func (s Places) Pass(i int) Pass {
	if i < len(s) {
		return s[i]
	}
	return Pass{}
}

// ClientWindow returns the key of the window of a client's authenticated token requests.
func ClientWindow(clientID string) string { return "client " + clientID }

// Query selects the rows to read for a token request. Empty fields select nothing.
type Query struct {
	ClientID  string
	TokenHash string
	Family    string
	Windows   []string // rate limit keys
	Places    string   // rate limit key
}

// Rows is the result of a Query. Rows that do not exist are nil.
type Rows struct {
	Credential    *account.Credential
	Token         *RefreshToken
	FamilyRevoked bool
	Windows       map[string]Window
	Places        Places
}
