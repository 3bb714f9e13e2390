package web

import (
	"bytes"
	"maps"
	"net/http"
)

// heldAnswer is a buffered answer.
type heldAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (h *heldAnswer) Header() http.Header { return h.header }

func (h *heldAnswer) WriteHeader(status int) {
	if h.status == 0 {
		h.status = status
	}
}

func (h *heldAnswer) Write(b []byte) (int, error) {
	h.WriteHeader(http.StatusOK)
	return h.body.Write(b)
}

// answer writes the buffered answer.
func (h *heldAnswer) answer(w http.ResponseWriter) error {
	clear(w.Header())
	maps.Copy(w.Header(), h.header)
	if h.status != 0 {
		w.WriteHeader(h.status)
	}
	if h.body.Len() == 0 {
		return nil
	}
	_, err := w.Write(h.body.Bytes())
	return err
}
