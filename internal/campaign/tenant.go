package campaign

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
