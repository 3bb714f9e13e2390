package webhook_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"campaign-dispatch/internal/webhook"
	"campaign-dispatch/internal/webhook/delivery"
)

// A post without a response has a code for its cause.
func TestPost_CauseOfFailure(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code   string
		server func(t *testing.T) (url string, client *http.Client)
	}{
		{"connection_refused", closedServer},
		{"unknown_host", unknownHost},
		{"certificate_expired", tlsServer("127.0.0.1", -time.Hour, true)},
		{"certificate_host", tlsServer("192.0.2.1", time.Hour, true)},
		{"certificate_untrusted", tlsServer("127.0.0.1", time.Hour, false)},
		{"no_connection", closingServer},
	} {
		t.Run(c.code, func(t *testing.T) {
			t.Parallel()
			url, client := c.server(t)
			poster := webhook.Poster{HTTP: client, Now: time.Now}
			result := poster.Post(t.Context(), delivery.Endpoint{URL: url, Secret: newSecret()}, webhook.Message{ID: "msg_a", Body: []byte("{}")})
			if result.Code != c.code || result.Delivered || !result.Fatal() {
				t.Errorf("result %+v, want code %s", result, c.code)
			}
		})
	}
}

func closedServer(*testing.T) (url string, client *http.Client) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	return s.URL, &http.Client{}
}

// closingServer closes each connection without a response.
func closingServer(t *testing.T) (url string, client *http.Client) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(s.Close)
	return s.URL, &http.Client{}
}

func unknownHost(*testing.T) (url string, client *http.Client) {
	dial := func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", IsNotFound: true}}
	}
	return "https://crm.example.com/", &http.Client{Transport: &http.Transport{DialContext: dial}}
}

// tlsServer returns a server with a certificate for an IP address that expires after an
// interval.
func tlsServer(ip string, expires time.Duration, trusted bool) func(t *testing.T) (url string, client *http.Client) {
	return func(t *testing.T) (string, *http.Client) {
		t.Helper()
		certificate, leaf := newCertificate(t, ip, time.Now().Add(expires))
		s := httptest.NewUnstartedServer(http.NotFoundHandler())
		s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
		s.StartTLS()
		t.Cleanup(s.Close)
		roots := x509.NewCertPool()
		if trusted {
			roots.AddCert(leaf)
		}
		return s.URL, &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	}
}

func newCertificate(t *testing.T, ip string, expires time.Time) (tls.Certificate, *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: expires.Add(-24 * time.Hour), NotAfter: expires,
		IPAddresses: []net.IP{net.ParseIP(ip)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, leaf
}
