// Package forward runs proxies between the functions of a local stack and the emulator of AWS.
package forward

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"campaign-dispatch/localstack/procnet"
)

// Proxy identifies the function of each call, and forwards calls. Start creates it.
type Proxy struct {
	procnet.Finder

	to        *url.URL
	transport *http.Transport
	server    *http.Server
	functions sync.Map // by the access key that signs a call
}

// Start listens on a free port of 127.0.0.1 for the functions of a stack, and serves their
// calls of the emulator at an address.
func Start(ctx context.Context, stack string, to *url.URL, serve http.Handler) (*Proxy, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the functions' calls: %w", err)
	}
	p := &Proxy{
		Finder: procnet.Finder{Stack: stack, Endpoint: "http://" + listener.Addr().String()},
		to:     to, transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 256},
		server: &http.Server{Handler: serve, ReadHeaderTimeout: 10 * time.Second, ConnContext: withCaller},
	}
	go func() { _ = p.server.Serve(listener) }()
	return p, nil
}

// URL is the address of AWS for the functions.
func (p *Proxy) URL() string { return p.Endpoint }

// Stop ends the proxy.
func (p *Proxy) Stop() { _ = p.server.Close() }

// caller is the process at the other end of a connection, once it was looked up.
type caller struct {
	once sync.Once
	procnet.Process

	err error
}

type callerKey struct{}

func withCaller(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, callerKey{}, &caller{})
}

// Process returns the process that makes a request.
func (p *Proxy) Process(r *http.Request) (procnet.Process, error) {
	c, ok := r.Context().Value(callerKey{}).(*caller)
	if !ok {
		c = &caller{}
	}
	c.once.Do(func() { c.Process, c.err = p.Behind(r.RemoteAddr) })
	if key := procnet.Key(r); key != "" && c.Function != "" {
		p.Learn(key, c.Function)
	}
	return c.Process, c.err
}

// Learn records the access key of a function. Each function has the key of its own role.
func (p *Proxy) Learn(key, function string) { p.functions.Store(key, function) }

// Function returns the function that makes a request, "" for this process. A known key
// identifies it even if its process is gone.
func (p *Proxy) Function(r *http.Request) (string, error) {
	if name, ok := p.functions.Load(procnet.Key(r)); ok {
		return name.(string), nil
	}
	by, err := p.Process(r)
	return by.Function, err
}

var services = map[string]string{
	"DynamoDB_20120810": "DynamoDB", "AmazonSQS": "SQS", "TrentService": "KMS", "AmazonSSM": "SSM",
}

// Operation returns the service and the action of a call, such as DynamoDB and GetItem. The
// action is the HTTP method for S3, Scheduler, and HTTP, which is any other service.
func Operation(r *http.Request) (service, action string) {
	if target, action, ok := strings.Cut(r.Header.Get("X-Amz-Target"), "."); ok {
		return cmp.Or(services[target], target), action
	}
	scope := r.Header.Get("Authorization")
	switch {
	case strings.Contains(scope, "/scheduler/"):
		return "Scheduler", r.Method
	case strings.Contains(scope, "/s3/"):
		return "S3", r.Method
	}
	return "HTTP", r.Method
}

// Forward makes a call with a body that was read, and returns the closed answer and its
// body. The call is completed even if the caller cancels it.
func (p *Proxy) Forward(call *http.Request, body []byte) (*http.Response, []byte, error) {
	out := call.Clone(context.WithoutCancel(call.Context()))
	out.RequestURI, out.URL.Scheme, out.URL.Host = "", p.to.Scheme, p.to.Host
	out.Body, out.ContentLength, out.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	answer, err := p.transport.RoundTrip(out)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	return answer, text, err
}

// Write writes an answer and its body to the caller.
func Write(w http.ResponseWriter, answer *http.Response, text []byte) {
	maps.Copy(w.Header(), answer.Header)
	w.WriteHeader(answer.StatusCode)
	_, _ = w.Write(text)
}
