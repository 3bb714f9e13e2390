package webhook

import (
	"context"
	"sync"
	"time"

	"campaign-dispatch/internal/hookpost"
)

const (
	// widest is how many letters are posted to one endpoint at once.
	widest = 32
	// enough failures in a row open an endpoint's circuit.
	enough = 3
	// streakFor is how long a failure counts: one letter alone that is refused
	// every time does not make the endpoint one that fails.
	streakFor = time.Minute
)

// gate bounds what is posted to one endpoint at once. It begins with one letter,
// widens with every one that is taken, and narrows to one again with every one
// that is not: an endpoint that is down is asked a few times, not many.
type gate struct {
	mu     sync.Mutex
	places chan struct{} // one for each letter that may go now
	width  int
	streak int // failures since a letter was taken, none long after another
	failed time.Time
}

func newGate() *gate {
	g := &gate{places: make(chan struct{}, widest), width: 1}
	g.places <- struct{}{}
	return g
}

// enter waits for a place, and tells whether there was one before ctx ended.
func (g *gate) enter(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false
	}
	select {
	case <-g.places:
		return true
	case <-ctx.Done():
		return false
	}
}

// leave gives the place back, and tells whether the endpoint fails so often that
// its circuit is to open.
func (g *gate) leave(v hookpost.Verdict, now time.Time) (open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !v.Taken {
		if now.Sub(g.failed) > streakFor {
			g.streak = 0
		}
		g.streak++
		g.failed = now
		if g.width > 1 {
			g.width--
		} else {
			g.places <- struct{}{}
		}
		return g.streak >= enough || v.Grave()
	}
	g.streak = 0
	g.places <- struct{}{}
	if g.width < widest {
		g.width++
		g.places <- struct{}{}
	}
	return false
}

// back gives a place back that was not used.
func (g *gate) back() { g.places <- struct{}{} }

// heal forgets the failures: a probe was taken.
func (g *gate) heal() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.streak = 0
}

// gates keeps the gates of endpoints. The zero gates are ready.
type gates struct {
	mu   sync.Mutex
	kept map[endpointKey]*gate
}

func (g *gates) of(key endpointKey) *gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.kept[key] == nil {
		if g.kept == nil || len(g.kept) >= maxCached {
			g.kept = map[endpointKey]*gate{}
		}
		g.kept[key] = newGate()
	}
	return g.kept[key]
}
