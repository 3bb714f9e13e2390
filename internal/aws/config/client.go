package config

import (
	"io"
	"net/http"
	"time"
)

// HTTPClientFor returns an HTTP client for the SDK. longest is the timeout for the start of
// a response.
//
// It works around lost responses: the SDK closes the request body when the response starts,
// while net/http may still check the body for its end. Read then returns io.EOF, which is
// harmless, but WriteTo returns io.EOF as a failure: net/http aborts the connection, and
// the SDK repeats a completed call.
func HTTPClientFor(longest time.Duration) *http.Client {
	return &http.Client{Transport: readBodies{byTime{transport(longest), transport(max(longest, longestCopy))}}}
}

// longestCopy is the timeout for the start of the response to a copy of an object on S3, which can begin
// after the copy: S3 copies 200 MB in some seconds.
const longestCopy = 20 * time.Second

// byTime has another transport for copies.
type byTime struct{ usual, copies http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t byTime) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("X-Amz-Copy-Source") != "" {
		return t.copies.RoundTrip(r)
	}
	return t.usual.RoundTrip(r)
}

// readBodies hides the WriteTo method of request bodies.
type readBodies struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t readBodies) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, writes := r.Body.(io.WriterTo); writes && r.Body != http.NoBody {
		r = r.WithContext(r.Context())
		r.Body = struct{ io.ReadCloser }{r.Body}
	}
	return t.RoundTripper.RoundTrip(r)
}
