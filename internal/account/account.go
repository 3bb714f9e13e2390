// Package account has what belongs to a tenant beside its campaigns: credentials, users, the brand,
// test numbers, and who owns an agent.
package account

import (
	"time"

	"campaign-dispatch/internal/campaign"
)

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
	ScopeLists     = "lists"              // reading and changing lists of numbers that get no messages
)

// Scopes are all scopes, in the order in which a credential has them.
var Scopes = []string{ScopeDispatch, ScopeTemplates, ScopeLists}

// IssuedCredential is a new credential with its secret. The secret is shown only once.
type IssuedCredential struct {
	Credential
	Secret string
}

// RotatedSecret is the new secret of a credential or an endpoint. It is shown only once.
type RotatedSecret struct {
	ID            string
	Secret        string
	PreviousUntil time.Time // the previous secret is valid until then, zero if it ended at once
}

// Person is a dashboard user of a tenant.
type Person struct {
	Email  string
	Tenant string
	Role   string // one of Roles
	// Pending reports that the person has not signed in yet. Only lists set it.
	Pending bool
}

// Roles are the roles of dashboard users. A person in several groups of the user pool has the first one.
var Roles = []string{"admin", "author", "approver", "viewer"}

// Attention is what can need a tenant's attention besides its campaigns and its endpoints.
type Attention struct {
	Brand Brand
	Pause string // see outgoing.Route
	// Limits are the tenant's limits, and Used is what it has reserved.
	Limits, Used campaign.Spending
}

// AuditEntry is a change made by a user in the dashboard, or a sign-in or sign-out.
type AuditEntry struct {
	Tenant  string
	At      time.Time
	Who     string // the user's email address
	Action  string // for example credential.create
	Subject string // ID or name of the changed object, never a secret or a phone number
	// Details are the options that the user chose, as keys of the dashboard texts, and the
	// times that changed, so that each reader sees them in their own language.
	Details []string
	// Link is the dashboard's path of the changed object, "" if it has no page.
	Link string
	// Cursor is the place in the log. Audit sets none, AuditLog sets it.
	Cursor string
}

// MaxTestNumbers is the maximum number of a tenant's saved numbers for tests.
const MaxTestNumbers = 10

// TestNumber is a saved number that gets test messages.
type TestNumber struct {
	Name  string `json:"name"`
	Phone string `json:"phone"` // E.164
}

// TestNumbers are the saved numbers of a tenant.
type TestNumbers struct {
	All []TestNumber
	// Revision is the number of changes, 0 before the first.
	Revision int
}
