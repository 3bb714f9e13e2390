package campaign

// Resent is what came of resending the webhooks of an endpoint. A delivery is some
// webhooks of one batch.
type Resent struct {
	Deliveries int // that are posted again within a minute or two
	Waiting    int // that wait until the endpoint, which keeps failing, answers a probe
}
