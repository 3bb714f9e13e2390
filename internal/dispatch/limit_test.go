package dispatch_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/httpapi"
)

var perSecond = acceptance.CallLimit{Rate: 25, Burst: 50}

// limited returns a bench with the limit, and a function that advances its clock.
func limited(t *testing.T, limit acceptance.CallLimit) (b *bench, move func(time.Duration)) {
	t.Helper()
	b = newBench(t)
	var mu sync.Mutex
	now := b.now
	clock := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}
	b.Limiter, b.Now = &dispatch.Limiter{Limit: limit, Calls: b.auth, Timeout: time.Minute}, clock
	b.auth.Now = clock
	b.store.Set(func(tables *dynamo.Tables) { tables.Now = clock })
	return b, func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(d)
	}
}

// countedCall makes a dry run: it is counted and writes nothing else.
func (b *bench) countedCall() reply {
	b.t.Helper()
	return b.postTo("/api/v1/external/campaigns/dispatch?dryRun=true", `{}`)
}

// rateLimited checks that a call was refused with a Retry-After of one second.
func rateLimited(t *testing.T, got reply) {
	t.Helper()
	t.Helper()
	if got.status != http.StatusTooManyRequests || got.Code != "rate_limited" || got.header.Get("Retry-After") != "1" ||
		got.header.Get("Content-Type") != "application/problem+json" {
		t.Fatalf("answered %d %s, Retry-After %q, want 429 rate_limited and 1", got.status, got.body, got.header.Get("Retry-After"))
	}
}

func TestLimit_BurstThenRate(t *testing.T) {
	t.Parallel()
	b, move := limited(t, acceptance.CallLimit{Rate: 2, Burst: 3})
	for round := range 2 {
		for i := range 3 {
			if got := b.countedCall(); got.status != http.StatusOK {
				t.Fatalf("round %d, call %d: answered %d %s", round, i, got.status, got.body)
			}
		}
		rateLimited(t, b.countedCall())
		move(500*time.Millisecond - time.Microsecond)
		rateLimited(t, b.countedCall())
		move(time.Microsecond)
		if got := b.countedCall(); got.status != http.StatusOK {
			t.Fatalf("round %d, after the wait: answered %d %s", round, got.status, got.body)
		}
		rateLimited(t, b.countedCall())
		move(time.Hour)
	}
}

// Every authorized call counts, whatever its outcome. A 429 comes after 401 and 403,
// and before all other errors.
func TestLimit_Order(t *testing.T) {
	t.Parallel()
	b, _ := limited(t, acceptance.CallLimit{Rate: 1, Burst: 4})
	call := b.body(nil)
	b.post(call, "Idempotency-Key", "k").accepted(t)
	b.post(call, "Idempotency-Key", "k").accepted(t) // a repetition
	if got := b.post(`{`); got.status != http.StatusBadRequest {
		t.Fatal("malformed:", got.status, got.body)
	}
	if got := b.countedCall(); got.status != http.StatusOK {
		t.Fatal("a dry run:", got.status, got.body)
	}
	rateLimited(t, b.post(call, "Idempotency-Key", "k"))
	rateLimited(t, b.post(`{`))
	rateLimited(t, b.post(strings.Repeat(" ", dispatch.MaxBody+1)))
	rateLimited(t, b.countedCall())
	if len(b.handoffs.batches) != 1 {
		t.Errorf("%d batches scheduled, want 1", len(b.handoffs.batches))
	}

	own := b.Tokens
	b.Tokens = holder{claims: own.(holder).claims, err: &httpapi.Problem{Status: http.StatusForbidden, Code: "insufficient_scope"}}
	b.countedCall().want(t, http.StatusForbidden, "insufficient_scope")
	b.Tokens = own
	b.must(b.auth.RevokeCredential(t.Context(), b.clientID))
	b.countedCall().want(t, http.StatusUnauthorized, "invalid_token")
}

// Calls with a revoked credential do not use up the tenant's limit.
func TestLimit_RevokedCredentialIsNotCounted(t *testing.T) {
	t.Parallel()
	b, _ := limited(t, acceptance.CallLimit{Rate: 1, Burst: 1})
	b.must(b.auth.CreateCredential(t.Context(), account.Credential{
		ClientID: b.clientID + "-leaked", Tenant: b.tenant, SecretHash: []byte{1}, RevokedAt: b.now,
	}))
	own, claims := b.Tokens, b.Tokens.(holder).claims
	claims.ClientID += "-leaked"
	b.Tokens = holder{claims: claims}
	for range 3 {
		b.countedCall().want(t, http.StatusUnauthorized, "invalid_token")
	}
	b.Tokens = own
	if got := b.countedCall(); got.status != http.StatusOK {
		t.Error(got.status, got.body)
	}
}

// Tenants have separate limits. Calls from the dashboard are not limited.
func TestLimit_OtherTenant(t *testing.T) {
	t.Parallel()
	b, _ := limited(t, acceptance.CallLimit{Rate: 1, Burst: 1})
	b.countedCall()
	rateLimited(t, b.countedCall())
	for range 3 {
		if _, err := b.Check(t.Context(), b.asked(nil)); err != nil {
			t.Error("dashboard call:", err)
		}
	}
	other := newBench(t)
	other.Limiter = b.Limiter
	if got := other.countedCall(); got.status != http.StatusOK {
		t.Error("other tenant:", got.status, got.body)
	}
}

// counting counts the writes to buckets.
type counting struct {
	dispatch.Calls
	mu     sync.Mutex
	writes int
	late   int   // writes that took longer than an empty bucket needs to become full
	err    error // returned by every write
	before func(tenant string, l acceptance.CallLimit)
}

func (c *counting) AddCall(ctx context.Context, tenant string, read acceptance.CallBucket, l acceptance.CallLimit, now time.Time) (acceptance.CallBucket, bool, error) {
	c.mu.Lock()
	c.writes++
	c.mu.Unlock()
	if c.err != nil {
		return acceptance.CallBucket{}, false, c.err
	}
	if c.before != nil {
		c.before(tenant, l)
	}
	begun := time.Now()
	current, counted, err := c.Calls.AddCall(ctx, tenant, read, l, now)
	if time.Since(begun) >= l.Refill() {
		c.mu.Lock()
		c.late++
		c.mu.Unlock()
	}
	return current, counted, err
}

// Concurrent calls on a real table: exactly the calls that the bucket allows pass.
// Second writes are for calls that read the bucket just before its period ended; on a
// slow emulator there are many. A late write is repeated.
func TestLimit_ConcurrentCalls(t *testing.T) {
	t.Parallel()
	b, _ := limited(t, perSecond)
	b.Now = time.Now
	calls := &counting{Calls: b.auth}
	functions := make([]*dispatch.Service, 20)
	for i := range functions {
		functions[i] = &dispatch.Service{
			Tokens: b.Tokens, Store: b.store, Blobs: b.Blobs, Releases: b.handoffs, SeenNumbers: &dispatch.SeenNumbers{Limit: 1 << 20},
			Now: time.Now, BaseURL: b.BaseURL, Lead: b.Lead, SweepDelay: b.SweepDelay, Limiter: &dispatch.Limiter{Limit: perSecond, Calls: calls, Timeout: time.Minute},
		}
	}
	const made = 200
	answers := make([]int, made)
	start := make(chan struct{})
	var running sync.WaitGroup
	for i := range answers {
		running.Go(func() {
			<-start
			answers[i] = callOn(t, functions[i%len(functions)])
		})
	}
	begun := time.Now()
	close(start)
	running.Wait()
	took := time.Since(begun)
	count := map[int]int{}
	for _, status := range answers {
		count[status]++
	}
	most := perSecond.Burst + int(took.Seconds()*float64(perSecond.Rate)) + 2
	t.Logf("%d calls in %s: %v, %d writes", made, took, count, calls.writes)
	if passed := count[http.StatusOK]; passed < perSecond.Burst || passed > most || passed+count[http.StatusTooManyRequests] != made {
		t.Errorf("answers %v in %s, want 50 to %d times 200 and else 429", count, took, most)
	}
	if calls.writes-calls.late > 2*made {
		t.Errorf("%d writes, %d of them late", calls.writes, calls.late)
	}
}

// A slow call is counted although concurrent calls fill the bucket and restart its
// period several times.
func TestLimit_PeriodEndsBetweenReadAndWrite(t *testing.T) {
	t.Parallel()
	b, move := limited(t, acceptance.CallLimit{Rate: 1, Burst: 4})
	bucket := acceptance.CallBucket{}
	others := []int{2, 1, 1, 1} // concurrent calls before each write; the first two end the period
	b.Limiter.Calls = &counting{Calls: b.auth, before: func(tenant string, l acceptance.CallLimit) {
		if len(others) == 0 {
			return
		}
		for range others[0] {
			move(time.Second)
			if current, counted, err := b.auth.AddCall(t.Context(), tenant, bucket, l, b.Now()); err != nil || !counted {
				t.Errorf("a concurrent call found %+v, %v", current, err)
			}
			bucket = acceptance.CallBucket{Period: bucket.Period + 1, Next: b.Now().Add(l.Every())}
		}
		others = others[1:]
	}}
	for range 3 {
		if got := b.countedCall(); got.status != http.StatusOK {
			t.Errorf("answered %d %s", got.status, got.body)
		}
	}
	rateLimited(t, b.countedCall())
}

// A call that is counted late passes if the bucket has room by then, although another call was
// counted meanwhile.
func TestLimit_CountedLate(t *testing.T) {
	t.Parallel()
	b, move := limited(t, acceptance.CallLimit{Rate: 1, Burst: 2})
	slow := true
	b.Limiter.Calls = &counting{Calls: b.auth, before: func(tenant string, l acceptance.CallLimit) {
		if !slow {
			return
		}
		slow = false
		move(10 * time.Second)
		if _, counted, err := b.auth.AddCall(t.Context(), tenant, acceptance.CallBucket{}, l, b.Now()); err != nil || !counted {
			t.Errorf("the other call: counted %t, %v", counted, err)
		}
	}}
	if got := b.countedCall(); got.status != http.StatusOK {
		t.Errorf("answered %d %s", got.status, got.body)
	}
	rateLimited(t, b.countedCall())
}

// callOn makes a dry run on a service and returns its status.
func callOn(t *testing.T, s *dispatch.Service) int {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/external/campaigns/dispatch?dryRun=true", strings.NewReader(`{}`))
	httpapi.HandlerFunc(s.ServeDispatch).ServeHTTP(w, r)
	return w.Code
}

// Refused calls write nothing.
func TestLimit_RefusedCallsWriteNothing(t *testing.T) {
	t.Parallel()
	b, _ := limited(t, acceptance.CallLimit{Rate: 1, Burst: 5})
	calls := &counting{Calls: b.auth}
	b.Limiter.Calls = calls
	for range 30 {
		b.countedCall()
	}
	if calls.writes != 5 {
		t.Errorf("%d writes for 5 accepted and 25 refused calls", calls.writes)
	}
}

func TestLimit_CountFails(t *testing.T) {
	t.Parallel()
	b, _ := limited(t, acceptance.CallLimit{Rate: 1, Burst: 1})
	calls := &counting{Calls: b.auth, err: errors.New("throttled")}
	b.Limiter.Calls = calls
	for range 5 {
		b.post(b.body(nil)).accepted(t)
	}
	if calls.writes != 5 {
		t.Errorf("%d attempts, want one per call", calls.writes)
	}
}

func TestLimit_Disabled(t *testing.T) {
	t.Parallel()
	b, _ := limited(t, acceptance.CallLimit{})
	calls := &counting{Calls: b.auth}
	b.Limiter.Calls = calls
	for range 60 {
		if got := b.countedCall(); got.status != http.StatusOK {
			t.Fatal(got.status, got.body)
		}
	}
	if calls.writes != 0 {
		t.Errorf("%d writes", calls.writes)
	}
}
