package delivery

// Resent counts the deliveries resent to an endpoint. A delivery contains some webhooks of
// one batch.
type Resent struct {
	Deliveries int // posted again within two minutes
	Waiting    int // parked until the endpoint's circuit closes
}
