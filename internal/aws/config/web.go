package config

import (
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// WebClient returns an HTTP client for AWS endpoints without an SDK, such as a user pool's
// OpenID endpoints. AWS_ENDPOINT_URL redirects requests to AWS.
func WebClient() *http.Client {
	const timeout = 5 * time.Second
	client := &http.Client{Transport: transport(timeout), Timeout: timeout}
	if to, err := url.Parse(os.Getenv("AWS_ENDPOINT_URL")); err == nil && to.Host != "" {
		client.Transport = emulated{client.Transport, to}
	}
	return client
}

// emulated redirects requests for AWS to an emulator.
type emulated struct {
	http.RoundTripper
	to *url.URL
}

// RoundTrip implements http.RoundTripper.
func (t emulated) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Hostname(), ".amazonaws.com") {
		r = r.Clone(r.Context())
		r.URL.Scheme, r.URL.Host, r.Host = t.to.Scheme, t.to.Host, ""
	}
	return t.RoundTripper.RoundTrip(r)
}
