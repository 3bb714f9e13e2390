package webhook

import (
	"context"
	"sync"
	"time"
)

const (
	// maxConcurrency is the maximum number of concurrent posts to an endpoint.
	maxConcurrency = 32
	// failuresToOpen is the number of consecutive failures that opens the circuit.
	failuresToOpen = 3
	// failuresToOpenHealthy replaces failuresToOpen for an endpoint that recently accepted
	// a message, or other messages of the same delivery: probably only these messages are
	// invalid.
	failuresToOpenHealthy = 10
	// failuresCountFor is how long a failure counts.
	failuresCountFor = time.Minute
	// healthyFor is how long an endpoint counts as healthy after a successful post.
	healthyFor = 5 * time.Minute
)

// limiter limits the concurrent posts to an endpoint. It starts with one, adds one with
// each success and removes one with each failure, so that a failing endpoint gets few
// requests.
type limiter struct {
	mu                  sync.Mutex
	places              chan struct{} // a token for each permitted post
	width               int
	consecutiveFailures int // since the last success
	failed              time.Time
	lastDelivered       time.Time // last success
	// shut reports that the circuit must open and posting must stop. written reports that
	// the open circuit was saved, so that a circuit read as closed is up to date.
	shut, written bool
}

func newLimiter() *limiter {
	g := &limiter{places: make(chan struct{}, maxConcurrency), width: 1}
	g.places <- struct{}{}
	return g
}

// enter waits for a slot. It returns false if ctx ends first.
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

// judge counts a result and reports whether posting must stop for now. It shuts the limiter
// if countsTowardCircuit.
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

// leave returns a message's slot. Call it after the result is noted, so that the next
// message sees it.
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

// limit returns the permitted number of consecutive failures.
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

// healthy reports whether a post succeeded within healthyFor.
func (g *limiter) healthy(now time.Time) bool {
	return !g.lastDelivered.IsZero() && now.Sub(g.lastDelivered) < healthyFor
}

// back returns an unused slot.
func (g *limiter) back() { g.places <- struct{}{} }

// isShut reports whether posting must stop.
func (g *limiter) isShut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut
}

// shutIfUnhealthy shuts the limiter of an unhealthy endpoint and reports whether the
// limiter is shut.
func (g *limiter) shutIfUnhealthy(now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = g.shut || !g.healthy(now)
	return g.shut
}

// opened records that the open circuit was saved.
func (g *limiter) opened() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut, g.written = true, true
}

// closed records that the circuit was read as closed. It has no effect until the open
// circuit is saved.
func (g *limiter) closed() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.written {
		g.shut, g.written, g.consecutiveFailures = false, false, 0
	}
}

// reset clears the failures after a successful probe.
func (g *limiter) reset(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut, g.written, g.consecutiveFailures, g.lastDelivered = false, false, 0, now
}

// limiters is a set of limiters by endpoint. The zero value is ready to use.
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
