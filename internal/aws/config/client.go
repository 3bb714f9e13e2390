package config

import (
	"io"
	"net/http"
	"time"
)

// HTTPClientFor returns a client for the SDK that does not lose replies, and waits
// so long for one to begin.
//
// The SDK closes a request's body as soon as the reply begins, while net/http may
// still look whether the body has an end. Read answers io.EOF then, which is the
// end, but the body's WriteTo answers io.EOF too, which is a failure: net/http
// breaks the connection off in the middle of the reply, and the SDK repeats a
// call that was carried out.
func HTTPClientFor(longest time.Duration) *http.Client {
	return &http.Client{Transport: readBodies{transport(longest)}}
}

// readBodies sends requests whose bodies are read, never written.
type readBodies struct{ http.RoundTripper }

// RoundTrip sends the request and returns its reply.
func (t readBodies) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, writes := r.Body.(io.WriterTo); writes && r.Body != http.NoBody {
		r = r.WithContext(r.Context())
		r.Body = struct{ io.ReadCloser }{r.Body}
	}
	return t.RoundTripper.RoundTrip(r)
}
