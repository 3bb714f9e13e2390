// Package httpapi reads HTTP requests and writes errors as RFC 9457 problems.
package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"runtime"
	"runtime/debug"

	"campaign-dispatch/internal/base/metrics"
)

// HandlerFunc is a handler that returns its errors. A wrapped *Problem is sent to the
// client. A passed deadline is answered 503. Any other error, and a panic, is logged
// and answered 500. A handler that returns an error must not have written anything.
type HandlerFunc func(w http.ResponseWriter, r *http.Request) error

func (h HandlerFunc) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer answerPanic(w, r)
	if err := h(w, r); err != nil {
		p := problem(r, err)
		metrics.Kind(r.Context(), p.Code, 1)
		p.Write(w)
	}
}

func problem(r *http.Request, err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		if p.Status >= http.StatusInternalServerError {
			logError(r, slog.LevelWarn, err)
		}
		return p
	}
	if errors.Is(err, context.DeadlineExceeded) {
		logError(r, slog.LevelWarn, err)
		return TryAgain()
	}
	logError(r, slog.LevelError, err)
	return internalError()
}

// TryAgain is the Problem of a request that was not completed and can be repeated.
func TryAgain() *Problem {
	return &Problem{
		Status: http.StatusServiceUnavailable,
		Code:   "try_again",
		Detail: "The call was not completed in time. Retry with the same Idempotency-Key, if you use one.",
		Header: http.Header{"Retry-After": {"1"}},
	}
}

func internalError() *Problem {
	return &Problem{Status: http.StatusInternalServerError, Code: "internal_error", Detail: "The service failed. Retry later."}
}

func logError(r *http.Request, level slog.Level, err error) {
	slog.Log(r.Context(), level, "request failed",
		"error", err.Error(), "route", r.Pattern, "request_id", requestID(r.Context()))
}

// answerPanic is deferred. It logs the panic's location, and its value only if the
// runtime raised it: other values may contain request data.
func answerPanic(w http.ResponseWriter, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	reason := "application panic"
	if err, ok := v.(runtime.Error); ok {
		reason = err.Error()
	}
	slog.ErrorContext(r.Context(), "request panicked", "reason", reason,
		"stack", string(debug.Stack()), "route", r.Pattern, "request_id", requestID(r.Context()))
	internalError().Write(w)
}

// WriteJSON answers with v encoded as JSON.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	writeJSON(w, status, "application/json", v)
}

func writeJSON(w http.ResponseWriter, status int, contentType string, v any) {
	body, err := EncodeJSON(v)
	if err != nil {
		panic(err) // a type that JSON cannot encode; HandlerFunc recovers
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}

// EncodeJSON encodes an answer without escaping < and >: no browser renders it as a
// page, and the escapes are six times as long.
func EncodeJSON(v any) ([]byte, error) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	return bytes.TrimSuffix(body.Bytes(), []byte("\n")), nil
}

// Exact serves paths in canonical form only. Other paths go to unknown, where a
// ServeMux would redirect.
func Exact(h, unknown http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path.Clean(r.URL.Path) != r.URL.Path {
			unknown.ServeHTTP(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
}

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
	r.Status = cmp.Or(r.Status, status)
}

// Write appends to the body.
func (r *Recorder) Write(b []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.Body.Write(b)
}
