package campaign

import "time"

// KeptAnswer is the response stored for an idempotency key.
type KeptAnswer struct {
	Tenant  string
	Key     [2]string // of its row
	Body    []byte    // nil when it is stored in a blob
	BlobKey string    // blob key of a long response
}

// Blob is a stored object in a listing.
type Blob struct {
	Key string
	At  time.Time // last modified
}
