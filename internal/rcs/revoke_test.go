package rcs_test

import (
	"testing"

	"campaign-dispatch/internal/send/outgoing"
)

func TestRevoke(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	revoke := func() *outgoing.Failure {
		return failureOf(t, p.client.Revoke(t.Context(), agent, messageID, phone))
	}
	if f := revoke(); f == nil || f.Kind != outgoing.Permanent {
		t.Errorf("an unknown message: %+v, want a permanent failure", f)
	}
	if err := p.client.Send(t.Context(), agent, delivery()); err != nil {
		t.Fatal(err)
	}
	for _, when := range []string{"at first", "again"} {
		if f := revoke(); f != nil {
			t.Errorf("%s: %+v", when, f)
		}
	}
	p.restart() // its tokens become invalid
	if err := p.client.Send(t.Context(), agent, delivery()); err != nil {
		t.Fatal(err)
	}
	p.restart()
	before := p.tokens.Load()
	if f := revoke(); f == nil || f.Kind != outgoing.Permanent || p.tokens.Load() != before+1 {
		t.Errorf("with a token that is refused: %+v after %d more tokens, want the answer to a fresh one", f, p.tokens.Load()-before)
	}
}
