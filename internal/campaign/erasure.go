package campaign

import "time"

// KeptAnswer is the answer that an idempotency key of a tenant has.
type KeptAnswer struct {
	Tenant  string
	Key     [2]string // of its row
	Body    []byte    // nil where it is long
	BlobKey string    // where a long answer rests
}

// Blob is a stored object in the list of its kind.
type Blob struct {
	Key string
	At  time.Time // when it was written last
}
