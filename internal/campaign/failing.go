package campaign

import "time"

// MaxFailing is how long the sends of a batch without a NotAfter may keep failing. After
// that, its remaining messages end as failed.
const MaxFailing = 72 * time.Hour

// Failing is how long every send of a batch has failed. The zero Failing means no failure
// since the last success.
type Failing struct {
	For time.Duration
	At  time.Time // time of the last counted failure
}

// After returns f after a failed send at now. It adds the time since the previous failure,
// at most gap: during a longer gap nothing was sent.
func (f Failing) After(now time.Time, gap time.Duration) Failing {
	if f.At.IsZero() {
		return Failing{At: now}
	}
	return Failing{For: f.For + min(max(now.Sub(f.At), 0), gap), At: now}
}

// TooLong reports whether the batch must not be sent any more.
func (f Failing) TooLong() bool { return f.For >= MaxFailing }
