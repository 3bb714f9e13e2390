package config

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// seen records the requests of a transport.
type seen struct {
	writes bool
	body   string
}

func (s *seen) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, s.writes = r.Body.(io.WriterTo)
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		s.body = string(b)
	}
	return httptest.NewRecorder().Result(), nil
}

// writer is a body with a WriteTo method.
type writer struct{ *strings.Reader }

func (writer) Close() error { return nil }

func TestReadBodies(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		body io.ReadCloser
		want seen
	}{
		"writes itself": {writer{strings.NewReader("text")}, seen{body: "text"}},
		"reads only":    {io.NopCloser(io.LimitReader(strings.NewReader("text"), 4)), seen{body: "text"}},
		"none":          {nil, seen{}},
		"empty":         {http.NoBody, seen{writes: true}}, // net/http recognizes http.NoBody by its identity
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
			r.Body = test.body
			var got seen
			response, err := readBodies{&got}.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			if got != test.want || r.Body != test.body {
				t.Errorf("sent %+v, want %+v, and the caller's request as it was", got, test.want)
			}
		})
	}
}
