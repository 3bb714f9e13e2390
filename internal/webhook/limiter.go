package webhook

import (
	"context"
	"sync"
	"time"
)

const (
	maxConcurrency = 32 // maximum number of concurrent posts to an endpoint
	failuresToOpen = 3  // number of consecutive failures that opens the circuit
	// failuresToOpenHealthy replaces failuresToOpen for an endpoint that recently accepted
	// a message, or other messages of the same delivery: probably only these messages are
	// invalid.
	failuresToOpenHealthy = 10
	failuresCountFor      = time.Minute     // how long a failure counts
	healthyFor            = 5 * time.Minute // how long an endpoint counts as healthy after a successful post
)

// limiter limits the concurrent posts to an endpoint. It starts with one, adds one with
// each success and removes one with each failure, so that a failing endpoint gets few
// requests.
type limiter struct {
	mu                  sync.Mutex
	slots               chan struct{} // one element for each permitted post
	width               int
	consecutiveFailures int // since the last success
	failed              time.Time
	lastDelivered       time.Time // last success
	// stopped reports that the circuit must open and posting must stop. saved reports that
	// the open circuit was saved, so that a circuit read as closed is up to date.
	stopped, saved bool
}

func newLimiter() *limiter {
	l := &limiter{slots: make(chan struct{}, maxConcurrency), width: 1}
	l.slots <- struct{}{}
	return l
}

// acquire waits for a slot. It returns false if ctx ends first.
func (l *limiter) acquire(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false
	}
	select {
	case <-l.slots:
		return true
	case <-ctx.Done():
		return false
	}
}

// record counts a result and reports whether posting must stop for now. It stops the limiter if countsTowardCircuit.
func (l *limiter) record(result Result, now time.Time, countsTowardCircuit bool) (fails bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if result.Delivered {
		l.consecutiveFailures, l.lastDelivered = 0, now
		return false
	}
	if now.Sub(l.failed) > failuresCountFor {
		l.consecutiveFailures = 0
	}
	l.consecutiveFailures++
	l.failed = now
	fails = l.consecutiveFailures >= l.limit(result, now, countsTowardCircuit)
	l.stopped = l.stopped || fails && countsTowardCircuit
	return fails
}

// release returns a message's slot. Call it after the result is noted, so that the next message sees it.
func (l *limiter) release(accepted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !accepted && l.width > 1:
		l.width--
		return
	case accepted && l.width < maxConcurrency:
		l.width++
		l.slots <- struct{}{}
	}
	l.slots <- struct{}{}
}

func (l *limiter) limit(result Result, now time.Time, countsTowardCircuit bool) int {
	well := l.healthy(now)
	switch {
	case result.Fatal() && !well:
		return 1
	case result.Fatal() || countsTowardCircuit && !well:
		return failuresToOpen
	}
	return failuresToOpenHealthy
}

func (l *limiter) healthy(now time.Time) bool {
	return !l.lastDelivered.IsZero() && now.Sub(l.lastDelivered) < healthyFor
}

func (l *limiter) releaseUnused() { l.slots <- struct{}{} }

func (l *limiter) isStopped() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stopped
}

// stopIfUnhealthy stops the limiter of an unhealthy endpoint and reports whether the limiter is stopped.
func (l *limiter) stopIfUnhealthy(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = l.stopped || !l.healthy(now)
	return l.stopped
}

// circuitOpened records that the open circuit was saved.
func (l *limiter) circuitOpened() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped, l.saved = true, true
}

// circuitClosed records that the circuit was read as closed. It has no effect until the open circuit is saved.
func (l *limiter) circuitClosed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.saved {
		l.stopped, l.saved, l.consecutiveFailures = false, false, 0
	}
}

// reset clears the failures after a successful probe.
func (l *limiter) reset(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped, l.saved, l.consecutiveFailures, l.lastDelivered = false, false, 0, now
}

// limiters is a set of limiters by endpoint. The zero value is ready to use.
type limiters struct {
	mu   sync.Mutex
	kept map[endpointKey]*limiter
}

func (l *limiters) get(key endpointKey) *limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept[key] == nil {
		if l.kept == nil || len(l.kept) >= maxWarm {
			l.kept = map[endpointKey]*limiter{}
		}
		l.kept[key] = newLimiter()
	}
	return l.kept[key]
}
