package ordeal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"campaign-dispatch/localstack/sink"
)

// sinks receive the webhooks of many tenants, each under a path of its own.
type sinks struct {
	server *http.Server
	url    string
	byPath sync.Map
}

func serveSinks(ctx context.Context) (*sinks, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for webhooks: %w", err)
	}
	s := &sinks{url: "http://" + listener.Addr().String()}
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.server.Serve(listener) }()
	return s, nil
}

func (s *sinks) stop() { _ = s.server.Close() }

// add returns the address of a new sink.
func (s *sinks) add(name, secret string) (string, error) {
	one, err := sink.New(secret, time.Now)
	if err != nil {
		return "", err
	}
	s.byPath.Store(name, one)
	return s.url + "/" + name, nil
}

// ServeHTTP takes a webhook.
func (s *sinks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	one, ok := s.byPath.Load(strings.Trim(r.URL.Path, "/"))
	if !ok {
		http.NotFound(w, r)
		return
	}
	one.(*sink.Sink).ServeHTTP(w, r)
}

// page takes what a handler writes.
type page struct {
	bytes.Buffer

	header http.Header
}

// Header is thrown away.
func (p *page) Header() http.Header {
	if p.header == nil {
		p.header = http.Header{}
	}
	return p.header
}

// WriteHeader does nothing.
func (p *page) WriteHeader(int) {}

// taken returns the webhooks that a sink has taken: their kinds by their ids.
func (s *sinks) taken(ctx context.Context, name string) (map[string]string, error) {
	one, ok := s.byPath.Load(name)
	if !ok {
		return nil, fmt.Errorf("there is no sink %s", name)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/_sink/events", http.NoBody)
	if err != nil {
		return nil, err
	}
	var answer page
	one.(*sink.Sink).ServeHTTP(&answer, r)
	var posts []sink.Event
	if err := json.Unmarshal(answer.Bytes(), &posts); err != nil {
		return nil, err
	}
	kinds, bodies := map[string]string{}, map[string]string{}
	for _, post := range posts {
		var letter struct{ ID, Type string }
		if err := json.Unmarshal([]byte(post.Body), &letter); err != nil || !post.Verified || letter.ID != post.Headers["webhook-id"] {
			return nil, fmt.Errorf("a webhook is not signed or not whole (%w)", err)
		}
		if before, again := bodies[letter.ID]; again && before != post.Body {
			return nil, fmt.Errorf("a %s came with two contents: %w", letter.Type, errUnbalanced)
		}
		kinds[letter.ID], bodies[letter.ID] = letter.Type, post.Body
	}
	return kinds, nil
}
