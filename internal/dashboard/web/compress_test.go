package web_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"campaign-dispatch/internal/dashboard/web"
)

// A page is compressed for browsers that accept it, and has the same text for others.
func TestCompress(t *testing.T) {
	t.Parallel()
	page := "<p>" + strings.Repeat("Olá! ", 1000) + "</p>"
	h := web.Compress(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, page)
	}))
	get := func(encoding string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/dashboard", nil)
		r.Header.Set("Accept-Encoding", encoding)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	if w := get("identity"); w.Body.String() != page || w.Header().Get("Content-Encoding") != "" {
		t.Errorf("without compression: %q, %d bytes", w.Header().Get("Content-Encoding"), w.Body.Len())
	}
	w := get("br, gzip, zstd")
	if w.Header().Get("Content-Encoding") != "gzip" || w.Header().Get("Vary") != "Accept-Encoding" || w.Body.Len() > len(page)/10 {
		t.Errorf("%v, %d of %d bytes", w.Header(), w.Body.Len(), len(page))
	}
	body, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(body); err != nil || string(got) != page {
		t.Errorf("%d bytes: %v", len(got), err)
	}
}
