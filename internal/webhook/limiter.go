package webhook

import (
	"context"
	"sync"
	"time"
)

const (
	// maxConcurrency is how many messages are posted to one endpoint at once.
	maxConcurrency = 32
	// failuresToOpen failures in a row make an endpoint one that fails.
	failuresToOpen = 3
	// failuresToOpenHealthy is how many it takes where the endpoint took a message a while ago, or
	// others of the same delivery: it is rather these messages that it refuses.
	failuresToOpenHealthy = 10
	// failuresCountFor is how long a failure counts.
	failuresCountFor = time.Minute
	// healthyFor is for how long an endpoint that took a message counts as one that
	// does.
	healthyFor = 5 * time.Minute
)

// limiter bounds what is posted to one endpoint at once. It begins with one message,
// widens with every one that is taken, and narrows to one again with every one
// that is not: an endpoint that is down is asked a few times, not many.
type limiter struct {
	mu                  sync.Mutex
	places              chan struct{} // one for each message that may go now
	width               int
	consecutiveFailures int // failures since a message was taken, none long after another
	failed              time.Time
	lastDelivered       time.Time // when a message was taken last
	// shut says that the circuit is to open: no further message is to go. written
	// says that it was opened, so that one that is read as closed is.
	shut, written bool
}

func newLimiter() *limiter {
	g := &limiter{places: make(chan struct{}, maxConcurrency), width: 1}
	g.places <- struct{}{}
	return g
}

// enter waits for a place, and reports whether there was one before ctx ended.
func (g *limiter) enter(ctx context.Context) bool {
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

// judge counts what came of a message, and reports whether so much has failed that nothing
// more is to be posted for now. The messages of a delivery that speaks for the endpoint shut
// the limiter then.
func (g *limiter) judge(v Result, now time.Time, countsTowardCircuit bool) (fails bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if v.Delivered {
		g.consecutiveFailures, g.lastDelivered = 0, now
		return false
	}
	if now.Sub(g.failed) > failuresCountFor {
		g.consecutiveFailures = 0
	}
	g.consecutiveFailures++
	g.failed = now
	fails = g.consecutiveFailures >= g.limit(v, now, countsTowardCircuit)
	g.shut = g.shut || fails && countsTowardCircuit
	return fails
}

// leave gives the place of a message back, after what came of it is noted: the message that
// waits for the place must see it.
func (g *limiter) leave(taken bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case !taken && g.width > 1:
		g.width--
		return
	case taken && g.width < maxConcurrency:
		g.width++
		g.places <- struct{}{}
	}
	g.places <- struct{}{}
}

// limit is how many failures in a row are too many.
func (g *limiter) limit(v Result, now time.Time, countsTowardCircuit bool) int {
	well := g.healthy(now)
	switch {
	case v.Fatal() && !well:
		return 1
	case v.Fatal() || countsTowardCircuit && !well:
		return failuresToOpen
	}
	return failuresToOpenHealthy
}

// healthy reports whether a message was taken a while ago.
func (g *limiter) healthy(now time.Time) bool {
	return !g.lastDelivered.IsZero() && now.Sub(g.lastDelivered) < healthyFor
}

// back gives a place back that was not used.
func (g *limiter) back() { g.places <- struct{}{} }

// isShut reports whether no further message is to go.
func (g *limiter) isShut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut
}

// shutIfUnhealthy shuts the limiter unless the endpoint took a message a while ago, and
// reports whether it is shut.
func (g *limiter) shutIfUnhealthy(now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = g.shut || !g.healthy(now)
	return g.shut
}

// opened notes that the circuit is written down as open.
func (g *limiter) opened() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut, g.written = true, true
}

// closed notes that the circuit was read as closed, which means nothing where
// the one that shut the limiter is not written yet.
func (g *limiter) closed() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.written {
		g.shut, g.written, g.consecutiveFailures = false, false, 0
	}
}

// reset forgets the failures: a probe was taken.
func (g *limiter) reset(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut, g.written, g.consecutiveFailures, g.lastDelivered = false, false, 0, now
}

// limiters keeps the limiters of endpoints. The zero limiters are ready.
type limiters struct {
	mu   sync.Mutex
	kept map[endpointKey]*limiter
}

func (g *limiters) of(key endpointKey) *limiter {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.kept[key] == nil {
		if g.kept == nil || len(g.kept) >= maxWarm {
			g.kept = map[endpointKey]*limiter{}
		}
		g.kept[key] = newLimiter()
	}
	return g.kept[key]
}
