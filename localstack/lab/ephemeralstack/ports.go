package ephemeralstack

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

const (
	// Ports tries the ports from lowest up to beyond. Linux and macOS give connections
	// ports from 32768 on: such a port may be taken before a stack listens there.
	lowest, beyond = 20_000, 32_768
	// portTries is how many taken ports are skipped.
	portTries = 100
)

// Ports returns n free ports of 127.0.0.1, all below the ports of connections.
func Ports(ctx context.Context, n int) ([]string, error) {
	var held []net.Listener // until all are found
	var failed error
	ports := make([]string, 0, n)
	for len(ports) < n && failed == nil {
		var l net.Listener
		if l, failed = listen(ctx); failed == nil {
			held = append(held, l)
			_, port, err := net.SplitHostPort(l.Addr().String())
			ports, failed = append(ports, port), err
		}
	}
	for _, l := range held {
		failed = errors.Join(failed, l.Close())
	}
	return ports, failed
}

func listen(ctx context.Context) (l net.Listener, err error) {
	for range portTries {
		port := strconv.Itoa(lowest + rand.IntN(beyond-lowest)) //nolint:gosec // a port is no secret
		if l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", port)); err == nil {
			return l, nil
		}
	}
	return nil, fmt.Errorf("find a port: %w", err)
}
