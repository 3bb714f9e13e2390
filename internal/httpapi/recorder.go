package httpapi

import (
	"bytes"
	"net/http"
)

// Recorder is a http.ResponseWriter that keeps the response in memory.
type Recorder struct {
	Fields http.Header
	Status int // 0 until the header is written
	Body   bytes.Buffer
}

// Header returns Fields.
func (r *Recorder) Header() http.Header { return r.Fields }

// WriteHeader sets the status. Later calls change nothing.
func (r *Recorder) WriteHeader(status int) {
	if r.Status == 0 {
		r.Status = status
	}
}

// Write appends to the body.
func (r *Recorder) Write(b []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.Body.Write(b)
}
