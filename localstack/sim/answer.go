package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// endpoint serves a request or returns the apiError to answer with.
type endpoint func(w http.ResponseWriter, r *http.Request) error

// ServeHTTP writes the endpoint's error in the shape of Google's APIs.
func (serve endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := serve(w, r)
	if err == nil {
		return
	}
	answer, ok := errors.AsType[*apiError](err)
	if !ok {
		answer = &apiError{Code: http.StatusInternalServerError, Message: "Internal error encountered."}
	}
	answer.write(w)
}

// apiError is the error object of Google's APIs.
type apiError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Status  string `json:"status"`
}

// Error returns the message. Messages never contain input of the client.
func (e *apiError) Error() string { return e.Message }

// canonical maps HTTP statuses to the status names of Google's APIs.
var canonical = map[int]string{
	http.StatusBadRequest:          "INVALID_ARGUMENT",
	http.StatusUnauthorized:        "UNAUTHENTICATED",
	http.StatusForbidden:           "PERMISSION_DENIED",
	http.StatusNotFound:            "NOT_FOUND",
	http.StatusTooManyRequests:     "RESOURCE_EXHAUSTED",
	http.StatusInternalServerError: "INTERNAL",
	http.StatusServiceUnavailable:  "UNAVAILABLE",
}

func (e *apiError) write(w http.ResponseWriter) {
	e.Status = canonical[e.Code]
	switch e.Code {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="https://accounts.google.com/"`)
	case http.StatusTooManyRequests:
		w.Header().Set("Retry-After", "1")
	}
	writeJSON(w, e.Code, map[string]*apiError{"error": e})
}

func invalid(format string, args ...any) *apiError {
	return &apiError{Code: http.StatusBadRequest, Message: fmt.Sprintf(format, args...)}
}

func unknownPath(http.ResponseWriter, *http.Request) error {
	return &apiError{Code: http.StatusNotFound, Message: "Method not found."}
}

// writeJSON writes v as the response. It ignores write errors: the client has
// disconnected and repeats the request.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// readJSON decodes a body of at most limit bytes into v. It rejects unknown members,
// as Google does.
func readJSON(w http.ResponseWriter, r *http.Request, limit int64, v any) error {
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, limit))
	body.DisallowUnknownFields()
	err := body.Decode(v)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return invalid("Request payload size exceeds the limit: %d bytes.", limit)
	}
	if err != nil {
		return invalid("Invalid JSON payload received.")
	}
	return nil
}
