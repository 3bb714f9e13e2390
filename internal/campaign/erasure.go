package campaign

import "time"

// Blob is a stored object in a listing.
type Blob struct {
	Key string
	At  time.Time // last modified
}
