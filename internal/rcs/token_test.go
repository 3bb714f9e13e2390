package rcs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/send/outgoing"
)

func TestToken_Cached(t *testing.T) {
	t.Parallel()
	const sends = 300
	p := newProvider(t)
	var wg sync.WaitGroup
	for i := range sends {
		wg.Go(func() {
			d := delivery()
			d.ID = fmt.Sprintf("6f0c9f0e-1b2c-4d3e-8f40-%012d", i)
			if err := p.client.Send(t.Context(), agent, d); err != nil {
				t.Errorf("send %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if got := p.tokens.Load(); got != 1 {
		t.Errorf("%d tokens were fetched, want 1", got)
	}
	if got := len(p.accepted(t)); got != sends {
		t.Errorf("the provider has %d messages, want %d", got, sends)
	}
}

func TestToken_Expiry(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	var passed atomic.Int64
	p.client.Now = func() time.Time { return time.Now().Add(time.Duration(passed.Load())) }
	for _, step := range []struct {
		passed time.Duration
		tokens int64
	}{{0, 1}, {50 * time.Minute, 1}, {59*time.Minute + 30*time.Second, 2}} {
		passed.Store(int64(step.passed))
		if err := p.client.Send(t.Context(), agent, delivery()); err != nil {
			t.Fatalf("send after %v: %v", step.passed, err)
		}
		if got := p.tokens.Load(); got != step.tokens {
			t.Errorf("after %v %d tokens were fetched, want %d", step.passed, got, step.tokens)
		}
	}
}

func TestToken_Refused(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	if err := p.client.Send(t.Context(), agent, delivery()); err != nil {
		t.Fatalf("send: %v", err)
	}
	p.restart()
	if err := p.client.Send(t.Context(), agent, delivery()); err != nil {
		t.Errorf("send with a token that the provider no longer accepts: %v", err)
	}
	if got := p.tokens.Load(); got != 2 {
		t.Errorf("%d tokens were fetched, want 2", got)
	}
}

func TestToken_KeyErrors(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	good := p.client.Keys
	other := newProvider(t)
	tests := []struct {
		name string
		keys keysFunc
	}{
		{"no parameter", func(string) ([]byte, error) { return nil, errors.New("no such parameter") }},
		{"no JSON", func(string) ([]byte, error) { return []byte("secret"), nil }},
		{"no service account", func(string) ([]byte, error) { return []byte(`{"type":"authorized_user"}`), nil }},
		{"no key", func(string) ([]byte, error) {
			return []byte(`{"type":"service_account","private_key":"none","token_uri":"` + p.url + `/token"}`), nil
		}},
		{"refused by the token endpoint", func(string) ([]byte, error) {
			document, err := p.sim.Load().KeyDocument(agent.ID)
			return bytes.ReplaceAll(document, []byte("/token"), []byte("/nowhere")), err
		}},
		{"another provider's", func(string) ([]byte, error) { return other.sim.Load().KeyDocument(agent.ID) }},
	}
	for _, test := range tests {
		p.client.Keys = test.keys
		got := failureOf(t, p.client.Send(t.Context(), agent, delivery()))
		if diff := cmp.Diff(&outgoing.Failure{Code: "unauthenticated"}, got); diff != "" {
			t.Errorf("%s: failure (-want +got):\n%s", test.name, diff)
		}
	}
	p.client.Keys = good
	if err := p.client.Send(t.Context(), agent, delivery()); err != nil {
		t.Errorf("send with the right key: %v", err)
	}
}

func TestToken_KeyOfAgent(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	var asked string
	p.client.Keys = keysFunc(func(parameter string) ([]byte, error) {
		asked = parameter
		return p.sim.Load().KeyDocument("another_agent")
	})
	got := failureOf(t, p.client.Send(t.Context(), agent, delivery()))
	if diff := cmp.Diff(&outgoing.Failure{Kind: outgoing.Permanent, Code: "agent_not_launched"}, got); diff != "" {
		t.Errorf("failure (-want +got):\n%s", diff)
	}
	if asked != agent.KeyParameter {
		t.Errorf("asked for %q, want %q", asked, agent.KeyParameter)
	}
}

func TestToken_WaitCancelled(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	reading, release := make(chan struct{}), make(chan struct{})
	p.client.Keys = keysFunc(func(string) ([]byte, error) {
		close(reading)
		<-release
		return nil, errors.New("too late")
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-reading
		cancel()
	}()
	err := p.client.Send(ctx, agent, delivery())
	close(release)
	if diff := cmp.Diff(&outgoing.Failure{Code: "unauthenticated"}, failureOf(t, err)); diff != "" {
		t.Errorf("failure (-want +got):\n%s", diff)
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the cancellation as its cause", err)
	}
}
