// Package account has what belongs to a tenant beside its campaigns: credentials, users, the brand,
// test numbers, and who owns an agent.
package account

import "time"

// Credential is an OAuth client of a tenant. Only the SHA-256 hashes of its secrets are
// stored.
type Credential struct {
	ClientID   string // starts with rcs_
	Tenant     string
	Name       string
	SecretHash []byte
	// PreviousSecretHash is also accepted until PreviousUntil, during a rotation.
	PreviousSecretHash []byte
	PreviousUntil      time.Time
	// RefreshGeneration counts the rotations without overlap. A refresh token is valid only
	// in the generation in which its family was issued.
	RefreshGeneration int
	Scope             string // space-separated
	CreatedAt         time.Time
	CreatedBy         string    // user's email address, "" for an operator
	RevokedAt         time.Time // zero if not revoked
}

// Revoked reports whether the credential was revoked.
func (c Credential) Revoked() bool { return !c.RevokedAt.IsZero() }

// The scopes of a credential.
const (
	ScopeDispatch  = "campaigns:dispatch" // dispatching, reading and controlling campaigns
	ScopeTemplates = "templates"          // reading and saving templates
)

// Scopes are all scopes, in the order in which a credential has them.
var Scopes = []string{ScopeDispatch, ScopeTemplates}
