package media_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// serve returns the address of a site on this machine.
func serve(t *testing.T, paths map[string]http.HandlerFunc) string {
	t.Helper()
	mux := http.NewServeMux()
	for path, h := range paths {
		mux.HandleFunc(path, h)
	}
	site := httptest.NewServer(mux)
	t.Cleanup(site.Close)
	return site.URL
}

func redirect(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
}

func typed(contentType string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(body)
	}
}

// sized answers a range of a file of another size.
func sized(size string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		w.Header().Set("Content-Range", "bytes 0-511/"+size)
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(body)
	}
}

// typedStream answers without a Content-Length.
func typedStream(contentType string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		typed(contentType, body)(w, r)
		_ = http.NewResponseController(w).Flush()
	}
}
