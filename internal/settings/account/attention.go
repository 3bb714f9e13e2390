package account

import "campaign-dispatch/internal/campaign"

// Attention is what can need a tenant's attention besides its campaigns and its endpoints.
type Attention struct {
	Brand Brand
	Pause string // see Route
	// Limits are the tenant's limits, and Used is what it has reserved.
	Limits, Used campaign.Spending
}
