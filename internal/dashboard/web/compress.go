package web

import (
	"net/http"

	"github.com/klauspost/compress/gzhttp"
)

const (
	// minCompressed is the size in bytes from which an answer is compressed.
	minCompressed = 1400
	// lengthJitter is the maximum number of random bytes that are added to a compressed
	// answer. They hide its exact length: pages contain a secret (the CSRF token) and
	// text of the request, so the length could reveal the secret (the BREACH attack).
	lengthJitter = 64
)

// Compress returns a handler that compresses the answers of h for clients that accept
// gzip.
func Compress(h http.Handler) http.Handler {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(minCompressed), gzhttp.EnableZstd(false), gzhttp.RandomJitter(lengthJitter, 0, false))
	if err != nil {
		panic(err) // the options are constants
	}
	return wrap(h)
}
