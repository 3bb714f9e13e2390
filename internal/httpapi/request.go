package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// body is a request body in memory.
type body struct {
	data []byte // unread bytes
}

// NewBody returns a request body over data, which Body returns without a copy.
func NewBody(data []byte) io.ReadCloser { return &body{data} }

func (b *body) Read(p []byte) (int, error) {
	if len(b.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, b.data)
	b.data = b.data[n:]
	return n, nil
}

func (b *body) Close() error { return nil }

// Body returns the whole body of the request. A body longer than limit bytes is a
// *Problem with status 413. The bytes of a NewBody are not copied: do not change them,
// or keep them after the handler returns.
func Body(r *http.Request, limit int) ([]byte, error) {
	if b, ok := r.Body.(*body); ok {
		if len(b.data) > limit {
			return nil, tooLarge(limit)
		}
		data := b.data
		b.data = nil
		return data, nil
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, int64(limit)+1))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok || len(data) > limit {
		return nil, tooLarge(limit)
	}
	if err != nil {
		return nil, fmt.Errorf("read request body: %w", err)
	}
	return data, nil
}

func tooLarge(limit int) error {
	return &Problem{
		Status: http.StatusRequestEntityTooLarge,
		Code:   "body_too_large",
		Detail: fmt.Sprintf("The body has more than %d bytes.", limit),
	}
}

// SourceIP returns the caller's address as API Gateway reports it. Headers are ignored,
// because the caller can forge them.
func SourceIP(r *http.Request) string {
	if o, ok := originOf(r.Context()); ok {
		return o.SourceIP
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// BaseURL returns the service's base URL without a trailing slash: the configured one,
// or the request's if that is empty.
func BaseURL(r *http.Request, configured string) string {
	if configured != "" {
		return strings.TrimRight(configured, "/")
	}
	if o, ok := originOf(r.Context()); ok {
		return "https://" + o.DomainName
	}
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// Origin holds what API Gateway reports about a request. Unknown fields are empty.
type Origin struct {
	SourceIP   string
	DomainName string
	RequestID  string
}

type originKey struct{}

// WithOrigin returns a context with the origin of a request.
func WithOrigin(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// originOf returns the origin of a request, and reports whether it came through a gateway.
func originOf(ctx context.Context) (o Origin, ok bool) {
	o, ok = ctx.Value(originKey{}).(Origin)
	return o, ok
}

func requestID(ctx context.Context) string {
	o, _ := originOf(ctx)
	return o.RequestID
}
