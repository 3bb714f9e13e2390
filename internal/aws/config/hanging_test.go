package config

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

func TestClient_HangingCall(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL", "")
	t.Setenv("AWS_REGION", "us-east-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	timeout := shortestTimeout(t)
	synctest.Test(t, func(t *testing.T) {
		cfg, dials := hangsOnce(t)
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		if _, err := dynamodb.NewFromConfig(cfg).ListTables(ctx, &dynamodb.ListTablesInput{}); err != nil || dials.Load() != 2 {
			t.Errorf("within %s after %d tries: %v", timeout, dials.Load(), err)
		}
	})
}

func TestClient_IdleConnection(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL", "")
	synctest.Test(t, func(t *testing.T) {
		cfg, dials := hangsOnce(t)
		dials.Store(1) // no connection hangs
		for range 2 {
			get(t, cfg.HTTPClient)
		}
		if n := dials.Load() - 1; n != 1 {
			t.Errorf("%d connections for calls that follow at once, want 1", n)
		}
		time.Sleep(time.Minute) // in the bubble's time: when DynamoDB closes the connection
		get(t, cfg.HTTPClient)
		if n := dials.Load() - 1; n != 2 {
			t.Errorf("%d connections after a minute, want 2", n)
		}
	})
}

// S3 can answer when it has copied a large object.
func TestClient_SlowCopy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := HTTPClientFor(3 * time.Second)
		by := client.Transport.(readBodies).RoundTripper.(byTime)
		for _, each := range []http.RoundTripper{by.usual, by.copies} {
			each.(*http.Transport).DialContext = func(context.Context, string, string) (net.Conn, error) {
				near, far := net.Pipe()
				go answer(lateWriter{far, 10 * time.Second})
				return near, nil
			}
			t.Cleanup(each.(*http.Transport).CloseIdleConnections)
		}
		for _, source := range []string{"", "bucket/key"} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://s3/key", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("X-Amz-Copy-Source", source)
			response, err := client.Do(r)
			if copies := source != ""; (err == nil) != copies {
				t.Errorf("a copy: %t, %v", copies, err)
			}
			if err == nil {
				_ = response.Body.Close()
			}
		}
	})
}

// lateWriter is a connection whose answers come late.
type lateWriter struct {
	net.Conn
	late time.Duration
}

func (c lateWriter) Write(p []byte) (int, error) {
	time.Sleep(c.late) // in the bubble's time
	return c.Conn.Write(p)
}

func get(t *testing.T, client aws.HTTPClient) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://dynamodb/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
}

// hangsOnce returns a configuration with a server that never responds on the first
// connection. It counts connections.
func hangsOnce(t *testing.T) (aws.Config, *atomic.Int32) {
	t.Helper()
	var dials atomic.Int32
	transport := transport(longestReply())
	transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		if dials.Add(1) == 1 {
			go func() { _, _ = io.Copy(io.Discard, far) }()
		} else {
			go answer(far)
		}
		return near, nil
	}
	t.Cleanup(transport.CloseIdleConnections)
	cfg := FromEnv()
	cfg.BaseEndpoint, cfg.HTTPClient = aws.String("http://dynamodb"), &http.Client{Transport: readBodies{transport}}
	return cfg, &dials
}

// answer responds to all requests of a connection.
func answer(conn net.Conn) {
	requests := bufio.NewReader(conn)
	for {
		r, err := http.ReadRequest(requests)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: 2\r\n\r\n{}")
	}
}

// shortestTimeout returns the shortest function timeout in the template.
func shortestTimeout(t *testing.T) time.Duration {
	t.Helper()
	template, err := os.ReadFile("../../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	shortest := time.Hour
	for _, found := range regexp.MustCompile(`(?m)^      Timeout: (\d+)$`).FindAllSubmatch(template, -1) {
		seconds, _ := strconv.Atoi(string(found[1]))
		shortest = min(shortest, time.Duration(seconds)*time.Second)
	}
	return shortest
}
