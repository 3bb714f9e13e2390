//go:build linux

package procnet_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	"campaign-dispatch/localstack/procnet"
)

// Lookups of many new connections at once find the process of each.
func TestBehind_Concurrent(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	finder := &procnet.Finder{Stack: "s", Endpoint: server.URL}
	var lookups sync.WaitGroup
	for range 50 {
		lookups.Go(func() {
			c, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", server.Listener.Addr().String())
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = c.Close() }()
			found, err := finder.Behind(c.LocalAddr().String())
			if err != nil || found != (procnet.Process{ID: os.Getpid()}) {
				t.Errorf("%+v, %v; want this process", found, err)
			}
		})
	}
	lookups.Wait()
	if found, err := finder.Behind("127.0.0.1:1"); err == nil {
		t.Errorf("a connection that does not exist is of %+v", found)
	}
}
