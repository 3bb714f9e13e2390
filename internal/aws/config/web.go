package config

import (
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// WebClient returns a client for the endpoints of AWS that are no API of an SDK:
// a user pool's OpenID endpoints. Where AWS_ENDPOINT_URL is set, requests to AWS
// go there.
func WebClient() *http.Client {
	const patience = 5 * time.Second
	client := &http.Client{Transport: transport(patience), Timeout: patience}
	if to, err := url.Parse(os.Getenv("AWS_ENDPOINT_URL")); err == nil && to.Host != "" {
		client.Transport = emulated{client.Transport, to}
	}
	return client
}

// emulated sends what is for AWS to an emulator of it.
type emulated struct {
	http.RoundTripper
	to *url.URL
}

// RoundTrip sends the request and returns its reply.
func (t emulated) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Hostname(), ".amazonaws.com") {
		r = r.Clone(r.Context())
		r.URL.Scheme, r.URL.Host, r.Host = t.to.Scheme, t.to.Host, ""
	}
	return t.RoundTripper.RoundTrip(r)
}
