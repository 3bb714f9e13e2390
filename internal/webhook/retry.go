package webhook

import "time"

// retries are the waits before what failed is posted again, 75 hours in all.
var retries = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour,
	14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// soonest is the shortest wait that is left to sweep alone, which comes once a
// minute: for a shorter one the task is queued too.
const soonest = time.Minute

// retryDelay returns how long to wait after so many failed attempts and one more,
// up to a fifth longer by jitter (0 up to 1); ok is false after the last.
func retryDelay(attempt int, jitter float64) (delay time.Duration, ok bool) {
	if attempt >= len(retries) {
		return 0, false
	}
	delay = retries[attempt]
	return delay + time.Duration(float64(delay)/5*jitter), true
}

const (
	firstProbe   = 5 * time.Second
	longestProbe = 15 * time.Minute
	// patience is how long an endpoint may keep failing before it is switched off.
	patience = 5 * 24 * time.Hour
)

// probeGap returns how long to wait after so many failed probes: it doubles up to
// 15 minutes.
func probeGap(probes int, jitter float64) time.Duration {
	gap := min(firstProbe<<min(probes, 10), longestProbe)
	return gap + time.Duration(float64(gap)/5*jitter)
}
