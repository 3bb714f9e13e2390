// Package forward forwards calls of functions to the emulator of AWS, for proxies between
// them.
package forward

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/url"
)

// Forwarder forwards calls. New creates it.
type Forwarder struct {
	to        *url.URL
	transport *http.Transport
}

// New returns a forwarder to an address.
func New(to *url.URL) Forwarder {
	return Forwarder{to: to, transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 256}}
}

// Forward makes a call with a body that was read, and returns the closed answer and its
// body. The call is completed even if the caller cancels it.
func (f Forwarder) Forward(call *http.Request, body []byte) (*http.Response, []byte, error) {
	out := call.Clone(context.WithoutCancel(call.Context()))
	out.RequestURI, out.URL.Scheme, out.URL.Host = "", f.to.Scheme, f.to.Host
	out.Body, out.ContentLength, out.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	answer, err := f.transport.RoundTrip(out)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	return answer, text, err
}

// Write writes an answer and its body to the caller.
func Write(w http.ResponseWriter, answer *http.Response, text []byte) {
	maps.Copy(w.Header(), answer.Header)
	w.WriteHeader(answer.StatusCode)
	_, _ = w.Write(text)
}
