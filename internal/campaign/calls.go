package campaign

import "time"

// CallLimit is the limit of a tenant's dispatch calls: a token bucket. A Rate of 0
// sets no limit.
type CallLimit struct {
	Rate  int // calls a second
	Burst int // calls at once, 1 at least
}

// CallBucket is how far a tenant has used up its limit.
type CallBucket struct {
	// Period counts how often the bucket was full when a call came.
	Period int
	// Next is when a call would come that leaves the bucket full: each call adds
	// Every to it. It is the theoretical arrival time of the GCRA.
	Next time.Time
}

// Full reports whether the bucket holds all its calls.
func (b CallBucket) Full(now time.Time) bool { return !b.Next.After(now) }

// Every is the time in which one more call is permitted.
func (l CallLimit) Every() time.Duration { return interval(l.Rate) }

// Latest is the latest Next of a bucket that has a call left.
func (l CallLimit) Latest(now time.Time) time.Time {
	return now.Add(time.Duration(max(l.Burst, 1)-1) * l.Every())
}

// Wait returns how long it takes until the bucket has a call left, 0 where it has
// one.
func (l CallLimit) Wait(b CallBucket, now time.Time) time.Duration {
	return max(b.Next.Sub(l.Latest(now)), 0)
}
