package prove

import (
	"context"
	"io"
	"net"
	"net/url"
	"sync/atomic"

	"campaign-dispatch/localstack/lab/bill"
)

// Assumed, in bytes.
const (
	// answerBytes leave AWS to answer a call: the head, a short body, TLS and IP.
	answerBytes = 600
	// frameBytes are what TLS and IP add to a request that leaves AWS.
	frameBytes = 110
)

// countingListener counts the bytes that its connections receive.
type countingListener struct {
	net.Listener

	received *atomic.Int64
}

// Accept returns a connection that counts what it receives.
func (l countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return countingConn{c, l.received}, err
}

type countingConn struct {
	net.Conn

	received *atomic.Int64
}

func (c countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.received.Add(int64(n))
	return n, err
}

// relay passes connections on to the provider and counts what it is sent.
type relay struct {
	sent     atomic.Int64
	listener net.Listener
	target   chan string // the provider's address, once it is known
}

func startRelay(ctx context.Context) (*relay, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &relay{target: make(chan string, 1)}
	r.listener = countingListener{listener, &r.sent}
	go r.serve(ctx)
	return r, nil
}

// url is the relay's address, in place of the provider's.
func (r *relay) url() string { return "http://" + r.listener.Addr().String() }

// to sets the provider's address.
func (r *relay) to(address string) error {
	u, err := url.Parse(address)
	if err == nil {
		r.target <- u.Host
	}
	return err
}

func (r *relay) serve(ctx context.Context) {
	for {
		from, err := r.listener.Accept()
		if err != nil {
			return
		}
		go r.pass(ctx, from)
	}
}

func (r *relay) pass(ctx context.Context, from net.Conn) {
	defer func() { _ = from.Close() }()
	target := <-r.target
	r.target <- target
	to, err := (&net.Dialer{}).DialContext(ctx, "tcp", target)
	if err != nil {
		return
	}
	go func() {
		_, _ = io.Copy(to, from)
		_ = to.Close()
	}()
	_, _ = io.Copy(from, to)
}

// posted returns the bytes of all webhooks so far, with those of TLS and IP.
func (r *costRun) posted() (bytes float64) {
	for _, heard := range r.heard {
		bytes += float64(heard.received.Load()) + float64(heard.posts())*frameBytes
	}
	return bytes
}

// transfer returns the gigabytes that leave AWS for a million messages: requests to the provider and webhooks,
// of which each message has so many bytes, and the answers to calls of the API and of the provider.
func transfer(lines []bill.Line, bytes float64) float64 {
	answers := 0.0
	for _, l := range lines {
		answers += l.Units.APICalls
		if l.Function == "events" {
			answers += l.Units.Invocations
		}
	}
	return (bytes*bill.Million + answers*answerBytes) / gigabyte
}
