package campaign

// Attention is what can need a tenant's attention besides its campaigns.
type Attention struct {
	Brand     Brand
	Pause     string // see Channel
	Endpoints []WatchedEndpoint
	// Limits are the tenant's limits, and Used is what it has reserved.
	Limits, Used Spending
}

// WatchedEndpoint is a webhook endpoint with its circuit.
type WatchedEndpoint struct {
	Endpoint
	Circuit Circuit
}
