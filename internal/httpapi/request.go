package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"campaign-dispatch/internal/base/random"
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

// JSONBody returns the body of a request as Body does, without the byte order mark that some programs write before JSON.
func JSONBody(r *http.Request, limit int) ([]byte, error) {
	data, err := Body(r, limit)
	return bytes.TrimPrefix(data, []byte("\ufeff")), err
}

// Encoded reports whether a header says that its body is compressed, or encoded in another way.
func Encoded(h http.Header) bool {
	for _, field := range h.Values("Content-Encoding") {
		for coding := range strings.SplitSeq(field, ",") {
			if coding = strings.TrimSpace(coding); coding != "" && !strings.EqualFold(coding, "identity") {
				return true
			}
		}
	}
	return false
}

// The code and the sentence of a body that is no JSON because it is encoded. Its status is 415.
const (
	CodeUnsupportedEncoding = "unsupported_encoding"
	UnsupportedEncoding     = "the body is not JSON and has a Content-Encoding: send it without compression"
)

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

// IdempotencyKey returns the header Idempotency-Key, "" if it was not sent. The fault is nil if the key is valid.
func IdempotencyKey(h http.Header) (key string, fault *Violation) {
	values := h.Values("Idempotency-Key")
	if len(values) == 0 {
		return "", nil
	}
	hidden := func(c rune) bool { return c <= ' ' || c > '~' }
	if key = values[0]; key == "" || len(key) > 255 || strings.ContainsFunc(key, hidden) {
		return "", &Violation{Code: "invalid_idempotency_key", Detail: "Idempotency-Key must have 1 to 255 visible ASCII characters"}
	}
	return key, nil
}

// NewID returns the ID of a new object of a kind: with the header Idempotency-Key, a UUID,
// version 8, which is the same for each call of the client with this key. The fault is that of the key.
func NewID(h http.Header, kind, tenant, clientID string) (id string, fault *Violation) {
	key, fault := IdempotencyKey(h)
	if fault != nil || key == "" {
		return random.UUID(), fault
	}
	sum := sha256.Sum256([]byte(kind + "\x00" + tenant + "\x00" + clientID + "\x00" + key))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	x := hex.EncodeToString(sum[:16])
	return x[:8] + "-" + x[8:12] + "-" + x[12:16] + "-" + x[16:20] + "-" + x[20:], nil
}
