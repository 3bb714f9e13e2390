package delivery

import "time"

// KeptPost is one post to an endpoint, with its payload and the endpoint's answer. It is
// kept for KeptPostLife. It contains no header, because a header contains the signature.
type KeptPost struct {
	Tenant     string
	EndpointID string
	WebhookID  string
	Kind       Kind
	Attempt    int       // failed attempts before this one
	At         time.Time // in milliseconds
	Status     int       // HTTP status, 0 without a response
	Code       string    // stable error code, "" if it was delivered
	Took       time.Duration
	Payload    []byte // JSON, as posted
	Answer     EndpointAnswer
}

// Delivered reports whether the endpoint accepted the post.
func (p KeptPost) Delivered() bool { return p.Code == "" }

// EndpointAnswer is the start of the body of an endpoint's answer.
type EndpointAnswer struct {
	Text    string // without the signatures and secrets of the endpoint
	Cut     bool   // the body is longer
	NotText bool   // the body is not UTF-8, and is not kept
}
