package delivery

// WatchedEndpoint is a webhook endpoint with its circuit.
type WatchedEndpoint struct {
	Endpoint
	Circuit Circuit
}
