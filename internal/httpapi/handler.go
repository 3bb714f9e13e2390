// Package httpapi reads HTTP requests and answers errors as RFC 9457 problems.
package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"path"
	"runtime"
	"runtime/debug"

	"campaign-dispatch/internal/metrics"
)

// HandlerFunc is a handler that returns the error it cannot answer itself. A
// *Problem, however wrapped, is told to the client; a passed deadline is a 503
// that asks to try again; any other error, and a panic, is logged and shown as
// an internal error. It must not have written anything when it returns an error.
type HandlerFunc func(w http.ResponseWriter, r *http.Request) error

func (h HandlerFunc) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer answerPanic(w, r)
	if err := h(w, r); err != nil {
		p := problem(r, err)
		metrics.Kind(r.Context(), p.Code, 1)
		p.Write(w)
	}
}

// problem is the one place where an error becomes a status.
func problem(r *http.Request, err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		if p.Status >= http.StatusInternalServerError {
			logError(r, slog.LevelWarn, err)
		}
		return p
	}
	if errors.Is(err, context.DeadlineExceeded) {
		logError(r, slog.LevelWarn, err)
		return &Problem{
			Status: http.StatusServiceUnavailable,
			Code:   "try_again",
			Detail: "The service did not finish in time. Repeat the call.",
			Header: http.Header{"Retry-After": {"1"}},
		}
	}
	logError(r, slog.LevelError, err)
	return internalError()
}

func internalError() *Problem {
	return &Problem{
		Status: http.StatusInternalServerError,
		Code:   "internal_error",
		Detail: "The service failed. Repeat the call later.",
	}
}

func logError(r *http.Request, level slog.Level, err error) {
	slog.Log(r.Context(), level, "request failed",
		"error", err.Error(), "route", r.Pattern, "request_id", requestID(r.Context()))
}

// answerPanic is deferred. It logs where the panic was, and its value only where
// the runtime made it: any other may hold what a client sent.
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

// WriteJSON answers with v as JSON.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	writeJSON(w, status, "application/json", v)
}

func writeJSON(w http.ResponseWriter, status int, contentType string, v any) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // a type that JSON cannot hold: HandlerFunc answers
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}

// Exact serves only paths that are written in their plain form. The others go to
// unknown, where a ServeMux would redirect a path with // or .. in it.
func Exact(h, unknown http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path.Clean(r.URL.Path) != r.URL.Path {
			unknown.ServeHTTP(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
}
