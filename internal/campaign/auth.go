package campaign

import (
	"slices"
	"time"
)

// RefreshToken is what is kept of a refresh token. Tokens that came out of one
// another by rotation are a family, and end together.
type RefreshToken struct {
	Hash     string // SHA-256 of the token, in hexadecimal digits
	Family   string
	ClientID string
	Scope    string // what the client was granted at first, space-separated
	// Generation is the credential's RefreshGeneration as it was when the secret
	// was judged.
	Generation int
	Expires    time.Time
	Used       time.Time // when it was exchanged for another one, zero before
}

// Pass is one request that a rate limit let through. Its ID tells it from all
// others.
type Pass struct {
	At time.Time
	ID uint64
}

// Window is the requests that a rate limit let through of late, oldest first.
type Window []Pass

// Has reports whether the window holds the pass of that ID.
func (w Window) Has(id uint64) bool {
	return slices.ContainsFunc(w, func(p Pass) bool { return p.ID == id })
}

// Places are the places of a rate limit. One request at most takes a place within
// the limit's period, so that requests which race for different places do not
// collide. The zero Pass is a place that was never taken.
type Places []Pass

// PlaceIDs is how many IDs tell the passes of a place apart that were in one
// millisecond.
const PlaceIDs = 1_000_000

// Of returns the pass that took the place.
func (s Places) Of(i int) Pass {
	if i < len(s) {
		return s[i]
	}
	return Pass{}
}

// ClientWindow names the window of the token requests that a client proved to be
// its own.
func ClientWindow(clientID string) string { return "client " + clientID }

// AuthQuery names the rows that judging a token request needs. Empty fields
// ask for nothing.
type AuthQuery struct {
	ClientID  string
	TokenHash string
	Family    string
	Windows   []string // keys of rate limits
	Places    string   // key of a rate limit
}

// AuthRows answers an AuthQuestion. What does not exist is nil.
type AuthRows struct {
	Credential    *Credential
	Token         *RefreshToken
	FamilyRevoked bool
	Windows       map[string]Window
	Places        Places
}
