package acceptance

import "time"

// CallLimit is the token bucket limit of a tenant's dispatch calls. A Rate of 0 means no
// limit.
type CallLimit struct {
	Rate  int // calls per second
	Burst int // calls at once, at least 1
}

// CallBucket is the state of a tenant's token bucket.
type CallBucket struct {
	// Period counts the calls that found the bucket full.
	Period int
	// Next is the theoretical arrival time of the generic cell rate algorithm (GCRA). Each
	// call adds Every to it.
	Next time.Time
}

// Full reports whether no call of the bucket is used.
func (b CallBucket) Full(now time.Time) bool { return !b.Next.After(now) }

// Every returns the time per call, rounded up to microseconds. It is 0 for no limit.
func (l CallLimit) Every() time.Duration {
	if l.Rate <= 0 {
		return 0
	}
	rate := time.Duration(l.Rate)
	return (time.Second + (rate-1)*time.Microsecond) / (rate * time.Microsecond) * time.Microsecond
}

// Refill returns the time in which an empty bucket becomes full.
func (l CallLimit) Refill() time.Duration { return time.Duration(max(l.Burst, 1)) * l.Every() }

// Latest returns the latest Next with which a call is still admitted.
func (l CallLimit) Latest(now time.Time) time.Time {
	return now.Add(time.Duration(max(l.Burst, 1)-1) * l.Every())
}

// Wait returns the time until the next call is admitted, 0 if it is admitted now.
func (l CallLimit) Wait(b CallBucket, now time.Time) time.Duration {
	return max(b.Next.Sub(l.Latest(now)), 0)
}
