package webhook

import (
	"time"

	"campaign-dispatch/internal/base/retry"
)

// retries are the delays between attempts, 75 to 91 hours in total, see retryDelay.
var retries = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour,
	14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// minSweepDelay is the shortest delay handled by sweep alone, which runs once a minute.
// For shorter delays, the task is queued too.
const minSweepDelay = time.Minute

// retryDelay returns the delay after a failed attempt, counted from 0. jitter, in [0, 1),
// adds up to 20%. ok is false after the last attempt.
func retryDelay(attempt int, jitter float64) (delay time.Duration, ok bool) {
	if attempt >= len(retries) {
		return 0, false
	}
	delay = retries[attempt]
	return delay + retry.Jitter(delay/5, jitter), true
}

// disableAfter is how long an endpoint can fail before it is disabled.
const disableAfter = 5 * 24 * time.Hour

// probes is the backoff of the probes of a failing endpoint.
var probes = retry.Backoff{First: 5 * time.Second, Max: 15 * time.Minute}

// probeGap returns the delay after the given number of failed probes. jitter adds up to
// 20%.
func probeGap(failed int, jitter float64) time.Duration {
	gap := probes.Delay(failed)
	return gap + retry.Jitter(gap/5, jitter)
}
