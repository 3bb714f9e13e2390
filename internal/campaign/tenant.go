package campaign

import "time"

// Tenant is a company that sends campaigns, through one agent of the provider.
type Tenant struct {
	ID      string
	Name    string
	AgentID string
}

// Agent is a sender registered with the RCS provider.
type Agent struct {
	ID string
	// KeyParameter names the SSM parameter that holds the service account's
	// key document.
	KeyParameter string
	// WebhookToken is the client token that signs the provider's webhooks.
	WebhookToken string
	// Rate is the number of messages a second that the agent may send at most,
	// 0 for no limit of our own.
	Rate int
}

// Credential is an OAuth client of a tenant. Of its secrets only SHA-256 sums
// are kept.
type Credential struct {
	ClientID   string // begins with rcs_
	Tenant     string
	Name       string
	SecretHash []byte
	// PreviousSecretHash is accepted too until PreviousUntil, while a client
	// moves from one secret to the next.
	PreviousSecretHash []byte
	PreviousUntil      time.Time
	// RefreshGeneration counts the rotations without overlap. A refresh token is
	// valid only in the generation that it was first issued in.
	RefreshGeneration int
	Scope             string // space-separated, "campaigns:dispatch"
	CreatedAt         time.Time
	CreatedBy         string    // the person's address, "" for an operator
	RevokedAt         time.Time // zero while it is live
}

// Revoked reports whether the credential was revoked.
func (c Credential) Revoked() bool { return !c.RevokedAt.IsZero() }

// Endpoint is an address of a tenant that receives webhooks.
type Endpoint struct {
	ID     string
	Tenant string
	URL    string
	Kinds  []string // event kinds it asks for, empty for all
	Secret string   // Standard Webhooks signing secret, whsec_ and base64
	// PreviousSecret signs beside Secret until PreviousUntil, while a receiver
	// moves from one secret to the next.
	PreviousSecret string
	PreviousUntil  time.Time
	// OffReason is why the endpoint was switched off, "" while it is on: "gone",
	// "failing" or "operator".
	OffReason string
	OffAt     time.Time
}

// ScopeDispatch permits the dispatch of campaigns.
const ScopeDispatch = "campaigns:dispatch"
