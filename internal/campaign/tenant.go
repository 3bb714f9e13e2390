package campaign

import "time"

// Tenant is a company that sends campaigns through one agent.
type Tenant struct {
	ID      string
	Name    string
	AgentID string
}

// Agent is a sender registered with the RCS provider.
type Agent struct {
	ID string
	// KeyParameter is the SSM parameter with the service account's key document.
	KeyParameter string
	// WebhookToken is the client token that signs the provider's webhooks.
	WebhookToken string
	// Rate is the maximum number of messages per second, 0 for no limit.
	Rate int
}

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

// Endpoint is a webhook endpoint of a tenant.
type Endpoint struct {
	ID     string
	Tenant string
	URL    string
	Kinds  []string // webhook event types, empty for the default
	Secret string   // Standard Webhooks signing secret: whsec_ and base64
	// PreviousSecret also signs until PreviousUntil, during a rotation.
	PreviousSecret string
	PreviousUntil  time.Time
	// OffReason is why the endpoint was disabled: "gone", "failing" or "operator". It is ""
	// while enabled.
	OffReason string
	OffAt     time.Time
}

// The scopes of a credential.
const (
	ScopeDispatch  = "campaigns:dispatch" // dispatching, reading and controlling campaigns
	ScopeTemplates = "templates"          // reading and saving templates
)

// Scopes are all scopes, in the order in which a credential has them.
var Scopes = []string{ScopeDispatch, ScopeTemplates}
