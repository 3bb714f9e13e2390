package rbmhook

import (
	"sync"
	"time"
)

// A token is kept for keepToken, so that events do not cost a read each. One that
// does not verify a request is read again, but not more often than recheck allows.
const (
	keepToken = time.Minute
	recheck   = time.Second
)

// known holds the tokens of agents that exist.
type known struct {
	mu     sync.Mutex
	tokens map[string]knownToken
}

type knownToken struct {
	token string
	read  time.Time
}

func (k *known) get(agent string, now time.Time) (token string, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t, ok := k.tokens[agent]
	return t.token, ok && now.Sub(t.read) < keepToken
}

// fresh tells whether the token was read a moment ago.
func (k *known) fresh(agent string, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	t, ok := k.tokens[agent]
	return ok && now.Sub(t.read) < recheck
}

func (k *known) put(agent, token string, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.tokens == nil {
		k.tokens = map[string]knownToken{}
	}
	k.tokens[agent] = knownToken{token, now}
}
