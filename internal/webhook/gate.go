package webhook

import (
	"context"
	"sync"
	"time"
)

const (
	// widest is how many letters are posted to one endpoint at once.
	widest = 32
	// enough failures in a row make an endpoint one that fails.
	enough = 3
	// many is how many it takes where the endpoint took a letter a while ago, or
	// others of the same notice: it is rather these letters that it refuses.
	many = 10
	// streakFor is how long a failure counts.
	streakFor = time.Minute
	// wellFor is for how long an endpoint that took a letter counts as one that
	// does.
	wellFor = 5 * time.Minute
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
	took   time.Time // when a letter was taken last
	// shut says that the circuit is to open: no further letter is to go. written
	// says that it was opened, so that one that is read as closed is.
	shut, written bool
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

// judge counts what came of a letter, and tells whether so much has failed that nothing
// more is to be posted for now. The letters of a notice that speaks for the endpoint shut
// the gate then.
func (g *gate) judge(v Verdict, now time.Time, speaks bool) (fails bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if v.Taken {
		g.streak, g.took = 0, now
		return false
	}
	if now.Sub(g.failed) > streakFor {
		g.streak = 0
	}
	g.streak++
	g.failed = now
	fails = g.streak >= g.limit(v, now, speaks)
	g.shut = g.shut || fails && speaks
	return fails
}

// leave gives the place of a letter back, after what came of it is noted: the letter that
// waits for the place must see it.
func (g *gate) leave(taken bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case !taken && g.width > 1:
		g.width--
		return
	case taken && g.width < widest:
		g.width++
		g.places <- struct{}{}
	}
	g.places <- struct{}{}
}

// limit is how many failures in a row are too many.
func (g *gate) limit(v Verdict, now time.Time, speaks bool) int {
	well := g.well(now)
	switch {
	case v.Grave() && !well:
		return 1
	case v.Grave() || speaks && !well:
		return enough
	}
	return many
}

// well tells whether a letter was taken a while ago.
func (g *gate) well(now time.Time) bool { return !g.took.IsZero() && now.Sub(g.took) < wellFor }

// back gives a place back that was not used.
func (g *gate) back() { g.places <- struct{}{} }

// isShut tells whether no further letter is to go.
func (g *gate) isShut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut
}

// shutIfUnwell shuts the gate unless the endpoint took a letter a while ago, and
// tells whether it is shut.
func (g *gate) shutIfUnwell(now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = g.shut || !g.well(now)
	return g.shut
}

// opened notes that the circuit is written down as open.
func (g *gate) opened() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut, g.written = true, true
}

// closed notes that the circuit was read as closed, which means nothing where
// the one that shut the gate is not written yet.
func (g *gate) closed() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.written {
		g.shut, g.written, g.streak = false, false, 0
	}
}

// heal forgets the failures: a probe was taken.
func (g *gate) heal(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut, g.written, g.streak, g.took = false, false, 0, now
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
		if g.kept == nil || len(g.kept) >= maxWarm {
			g.kept = map[endpointKey]*gate{}
		}
		g.kept[key] = newGate()
	}
	return g.kept[key]
}
