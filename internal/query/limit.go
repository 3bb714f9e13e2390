package query

import (
	"maps"
	"net/http"
	"sync"
	"time"

	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/oauth/accesstoken"
)

// maxBuckets is the maximum number of buckets in memory.
const maxBuckets = 1000

// ReadLimit authorizes requests, and limits those of each tenant that read. It counts the requests of this process only: a
// row would cost more than most reads.
type ReadLimit struct {
	Tokens accesstoken.Authorizer
	Limit  acceptance.CallLimit
	Now    func() time.Time

	mu      sync.Mutex
	buckets map[string]acceptance.CallBucket // by tenant, those that may not be full
}

// Authorize returns the claims of a token. A refused request returns a *httpapi.Problem, a 429 above the limit.
func (l *ReadLimit) Authorize(r *http.Request, issuer, scope string) (accesstoken.Claims, error) {
	claims, err := l.Tokens.Authorize(r, issuer, scope)
	if err != nil || l.Limit.Rate == 0 || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return claims, err
	}
	if wait := l.take(claims.Tenant); wait > 0 {
		return claims, httpapi.RateLimited(wait,
			"The tenant reads more often than its limit allows. Retry after the number of seconds in Retry-After.")
	}
	return claims, nil
}

// take counts a request, or returns when it may be repeated.
func (l *ReadLimit) take(tenant string) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.Now()
	bucket := l.buckets[tenant]
	if bucket.Full(now) {
		bucket.Next = now
	}
	if wait := l.Limit.Wait(bucket, now); wait > 0 {
		return wait
	}
	bucket.Next = bucket.Next.Add(l.Limit.Every())
	l.forget(now)
	l.buckets[tenant] = bucket
	return 0
}

// forget makes room for a bucket. A full one is as good as none. If none is full, all are dropped.
func (l *ReadLimit) forget(now time.Time) {
	if len(l.buckets) >= maxBuckets {
		maps.DeleteFunc(l.buckets, func(_ string, b acceptance.CallBucket) bool { return b.Full(now) })
	}
	if l.buckets == nil || len(l.buckets) >= maxBuckets {
		l.buckets = map[string]acceptance.CallBucket{}
	}
}
