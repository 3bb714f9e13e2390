// Package keptanswer defines the stored responses of idempotency keys.
package keptanswer

// Answer is the response stored for an idempotency key.
type Answer struct {
	Tenant  string
	Key     [2]string // of its row
	Body    []byte    // nil when it is stored in a blob
	BlobKey string    // blob key of a long response
}
