package campaign

import "time"

// MaxFailing is for how long the attempts of a batch without a NotAfter may fail
// before what is left of it ends as failed.
const MaxFailing = 72 * time.Hour

// Failing is for how long all attempts to send a batch's messages have failed. The
// zero Failing is that of a batch of which no attempt failed since the last success.
type Failing struct {
	For time.Duration
	At  time.Time // of the last failed attempt that was counted
}

// After returns f after an attempt that failed at now. Of the time since the
// attempt before, gap counts at most: in what is longer nothing was tried.
func (f Failing) After(now time.Time, gap time.Duration) Failing {
	if f.At.IsZero() {
		return Failing{At: now}
	}
	return Failing{For: f.For + min(max(now.Sub(f.At), 0), gap), At: now}
}

// TooLong reports whether the batch is not to be tried any more.
func (f Failing) TooLong() bool { return f.For >= MaxFailing }
