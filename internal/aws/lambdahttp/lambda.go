// Package lambdahttp adapts a net/http handler to Lambda, behind Amazon API Gateway (HTTP
// API, payload format 2.0) or a function URL.
package lambdahttp

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/lambda"

	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/httpapi/jsonscan"
)

// shutdownMargin is the time between the handler's deadline and Lambda's, so that a late response is still sent.
const shutdownMargin = 300 * time.Millisecond

// securityHeaders are in every answer of a function; API Gateway's own answers have none. Browsers use HTTPS for a year (RFC 6797), and guess no
// content type (WHATWG Fetch, "nosniff").
var securityHeaders = http.Header{
	"Strict-Transport-Security": {"max-age=31536000"}, "X-Content-Type-Options": {"nosniff"},
}

// NewHandler returns a Lambda handler that calls h.
func NewHandler(h http.Handler) lambda.Handler { return adapter{h} }

type adapter struct{ handler http.Handler }

// Invoke processes an event. Events that are not HTTP requests are errors.
func (a adapter) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	if deadline, ok := ctx.Deadline(); ok {
		early, cancel := context.WithDeadline(ctx, deadline.Add(-shutdownMargin))
		defer cancel()
		ctx = early
	}
	w := &httpapi.Recorder{Fields: securityHeaders.Clone()}
	e, err := parseEvent(payload)
	switch {
	case clientsFault(err):
		httpapi.BadRequest(jsonscan.InvalidUTF8, "The request is not valid UTF-8.").Write(w)
	case err != nil:
		return nil, err
	default:
		a.handler.ServeHTTP(w, e.request(ctx))
	}
	count(ctx, w.Status)
	return document(w, e)
}

// count counts error responses by status. API Gateway counts the others.
func count(ctx context.Context, status int) {
	switch {
	case status >= http.StatusInternalServerError:
		metrics.Add(ctx, metrics.CallsFailed, 1)
	case status == http.StatusTooManyRequests:
		metrics.Add(ctx, metrics.CallsLimited, 1)
	case status >= http.StatusBadRequest:
		metrics.Add(ctx, metrics.CallsRefused, 1)
	}
}

// clientsFault reports whether the event's only error is invalid UTF-8. Only the client can cause it.
func clientsFault(err error) bool {
	fault, ok := errors.AsType[*jsonscan.Error](err)
	return ok && fault.Code == jsonscan.InvalidUTF8
}

func (e *event) request(ctx context.Context) *http.Request {
	r := &http.Request{
		Method:        e.method,
		URL:           e.url(),
		Proto:         e.protocol,
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        e.headers(),
		Body:          httpapi.NewBody(e.body),
		ContentLength: int64(len(e.body)),
		Host:          e.host(),
		RemoteAddr:    net.JoinHostPort(e.sourceIP, "0"),
	}
	r.RequestURI = r.URL.RequestURI()
	return r.WithContext(httpapi.WithOrigin(ctx, httpapi.Origin{SourceIP: e.sourceIP, DomainName: e.domainName, RequestID: e.requestID}))
}

// url returns the request URL. A path that cannot be unescaped is used as is.
func (e *event) url() *url.URL {
	u := &url.URL{Path: e.rawPath, RawQuery: e.rawQueryString}
	if path, err := url.PathUnescape(e.rawPath); err == nil {
		u.Path, u.RawPath = path, e.rawPath
	}
	if !strings.HasPrefix(u.Path, "/") {
		u.Path, u.RawPath = "/"+u.Path, ""
	}
	return u
}

func (e *event) host() string {
	if host := e.header.Get("Host"); host != "" {
		return host
	}
	return e.domainName
}

type responseDocument struct {
	StatusCode      int               `json:"statusCode"`
	Headers         map[string]string `json:"headers"`
	Cookies         []string          `json:"cookies,omitempty"`
	Body            string            `json:"body"`
	IsBase64Encoded bool              `json:"isBase64Encoded"`
}

// document encodes a response in payload format 2.0. The format has one value per header:
// several are joined by commas, except cookies, which have their own field.
func document(w *httpapi.Recorder, e *event) ([]byte, error) {
	w.WriteHeader(http.StatusOK)
	d := responseDocument{StatusCode: w.Status, Headers: make(map[string]string, len(w.Fields)), Cookies: w.Fields["Set-Cookie"]}
	for name, values := range w.Fields {
		if name != "Set-Cookie" {
			d.Headers[name] = strings.Join(values, ", ")
		}
	}
	if e == nil || e.method != http.MethodHead {
		d.Body, d.IsBase64Encoded = text(w.Body.Bytes())
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(d); err != nil {
		return nil, fmt.Errorf("encode response: %w", err)
	}
	return b.Bytes(), nil
}

// long is the body size from which the shorter encoding is used: Lambda rejects responses over 6 MB.
const long = 1 << 20

// text returns the body as a string for JSON. Binary bodies, and long bodies with many escapes, are encoded in base64.
func text(body []byte) (s string, encoded bool) {
	if utf8.Valid(body) && (len(body) < long || 3*escapes(body) <= len(body)) {
		return string(body), false
	}
	return base64.StdEncoding.EncodeToString(body), true
}

// escapes returns the maximum number of bytes that JSON escaping adds.
func escapes(text []byte) (n int) {
	for _, c := range text {
		switch {
		case c < ' ':
			n += len(`\u0000`) - 1
		case c == '"' || c == '\\':
			n++
		}
	}
	return n
}
