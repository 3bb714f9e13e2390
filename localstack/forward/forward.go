// Package forward passes calls of functions on to the emulator of AWS, for proxies that
// stand between them.
package forward

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/url"
)

// Forwarder passes calls on. Its zero value is of no use: see New.
type Forwarder struct {
	to        *url.URL
	transport *http.Transport
}

// New returns what passes calls on to an address.
func New(to *url.URL) Forwarder {
	return Forwarder{to: to, transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 256}}
}

// Forward makes a call, whose body was read, and returns its answer, closed, and the
// answer's body. A caller that gives up does not undo its call.
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

// Write gives an answer and its body to the caller.
func Write(w http.ResponseWriter, answer *http.Response, text []byte) {
	maps.Copy(w.Header(), answer.Header)
	w.WriteHeader(answer.StatusCode)
	_, _ = w.Write(text)
}
