// Package poststats defines the counts of webhook posts.
package poststats

import "time"

// Count counts webhook posts, repeated posts included.
type Count struct{ Taken, Failed int }

// Hourly counts the webhook posts to an endpoint in one hour, repeated posts included.
type Hourly struct {
	Hour   time.Time // start of the hour
	Taken  int
	Failed int
}
