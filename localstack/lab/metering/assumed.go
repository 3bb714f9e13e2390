package metering

import (
	"math"
	"time"
)

// What cannot be seen on one machine is assumed.
const (
	AWSRoundTrip      = 8 * time.Millisecond   // one AWS call within a region
	ProviderRoundTrip = 150 * time.Millisecond // one message to the provider
	WebhookRoundTrip  = 150 * time.Millisecond // one post to an endpoint
	// SendConcurrency is how many messages one call of send has on the way at once.
	SendConcurrency = 64
	// PostsAtOnce is how many posts to one endpoint one call of notify has.
	PostsAtOnce = 32
	// AccessLog is the gateway's log line of a call in bytes.
	AccessLog = 500
	// received is how many messages one request of SQS gets.
	received = 10
)

// Polling is how many requests of SQS bring messages to so many calls of a function,
// and take them from the queue after: some ten messages a request, and one at least
// for each call.
func Polling(calls, messages float64) float64 {
	return 2 * math.Max(calls, math.Ceil(messages/received))
}
