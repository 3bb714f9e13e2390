package outgoing_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"campaign-dispatch/internal/send/outgoing"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestLease(t *testing.T) {
	t.Parallel()
	busy := outgoing.RateLimit{Every: 10 * time.Millisecond, Next: noon.Add(3 * time.Second)}
	tests := map[string]struct {
		rateLimit   outgoing.RateLimit
		n, rate     int
		reservation outgoing.Reservation
		next        time.Time
	}{
		"the first reservation begins at once": {
			outgoing.RateLimit{},
			5, 100,
			outgoing.Reservation{Start: noon, Every: 10 * time.Millisecond},
			noon.Add(50 * time.Millisecond),
		},
		"the next one follows it": {
			busy, 100, 100,
			outgoing.Reservation{Start: noon.Add(3 * time.Second), Every: 10 * time.Millisecond},
			noon.Add(4 * time.Second),
		},
		"after a while nobody has to wait": {
			outgoing.RateLimit{Every: time.Millisecond, Next: noon.Add(-time.Second)},
			1, 1000,
			outgoing.Reservation{Start: noon, Every: time.Millisecond},
			noon.Add(time.Millisecond),
		},
		"a slowed agent stays slow": {
			outgoing.RateLimit{Every: time.Second},
			2, 100,
			outgoing.Reservation{Start: noon, Every: time.Second},
			noon.Add(2 * time.Second),
		},
		"a lowered rate counts at once": {
			outgoing.RateLimit{Every: time.Millisecond, Next: noon.Add(time.Hour)},
			2, 2,
			outgoing.Reservation{Start: noon, Every: 500 * time.Millisecond, SlowedAt: noon},
			noon.Add(time.Second),
		},
		"a slowed agent without a rate": {
			outgoing.RateLimit{Every: time.Millisecond},
			3, 0,
			outgoing.Reservation{Start: noon, Every: time.Millisecond},
			noon.Add(3 * time.Millisecond),
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reservation, left := tt.rateLimit.Lease(noon, tt.n, tt.rate)
			want := outgoing.RateLimit{Every: tt.reservation.Every, Next: tt.next, SlowedAt: tt.reservation.SlowedAt}
			if reservation != tt.reservation || left != want {
				t.Errorf("Lease:\n%s%s", cmp.Diff(tt.reservation, reservation), cmp.Diff(want, left))
			}
		})
	}
}

// For any order of leases, decreases and increases: a reservation starts after the previous
// one ends, unless that is revoked; no reservation from before a decrease is valid, and
// none after it has to wait; messages never exceed the agent's rate.
func TestLease_Properties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.IntRange(1, 2000).Draw(t, "rate")
		now, free, rateLimit := noon, noon, outgoing.RateLimit{}
		var reservations []outgoing.Reservation
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 2000).Draw(t, "ms")) * time.Millisecond)
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				every := max(rateLimit.Every, time.Millisecond)
				slowed := rateLimit.Decrease(now, every)
				if slowed == rateLimit {
					continue
				}
				for _, reservation := range reservations {
					if !reservation.Revoked(slowed) {
						t.Fatalf("a reservation of %v is still valid at a rate limit slowed at %v", reservation.SlowedAt, slowed.SlowedAt)
					}
				}
				free, rateLimit = now.Truncate(time.Millisecond), slowed
				if !rateLimit.Next.Equal(free) {
					t.Fatalf("slowed at %v, the next reservation begins at %v", now, rateLimit.Next)
				}
			case 1:
				rateLimit = rateLimit.Increase(rapid.IntRange(0, 20).Draw(t, "frames"), rate)
			default:
				n := rapid.IntRange(1, 500).Draw(t, "n")
				reservation, left := rateLimit.Lease(now, n, rate)
				if reservation.Start.Before(free) || reservation.Start.Before(now) {
					t.Fatalf("a reservation begins at %v; it is %v and the one before ends at %v", reservation.Start, now, free)
				}
				if reservation.Every*time.Duration(rate) < time.Second {
					t.Fatalf("one message every %v is more than %d a second", reservation.Every, rate)
				}
				free, rateLimit, reservations = reservation.At(n), left, append(reservations, reservation)
			}
		}
	})
}

func TestDecrease(t *testing.T) {
	t.Parallel()
	p := outgoing.RateLimit{}.Decrease(noon, 10*time.Millisecond)
	if want := 20 * time.Millisecond; p.Every != want {
		t.Errorf("an agent that had one message every 10ms has one every %v, want %v", p.Every, want)
	}
	if again := p.Decrease(noon.Add(2999*time.Millisecond), p.Every); again != p {
		t.Errorf("within three seconds it was halved twice: %v", again)
	}
	if faster := p.Decrease(noon.Add(3*time.Second), 9*time.Millisecond); faster != p {
		t.Errorf("what went faster than its rate slowed it to %v", faster)
	}
	for i := range 20 {
		p = p.Decrease(noon.Add(time.Duration(i+1)*3*time.Second), p.Every)
	}
	if p.Every != time.Second {
		t.Errorf("the lowest rate is one message every %v, want 1s", p.Every)
	}
}

func TestIncrease(t *testing.T) {
	t.Parallel()
	slow := outgoing.RateLimit{Every: 100 * time.Millisecond, Next: noon}
	if got := slow.Increase(1, 100).Every; got < 96*time.Millisecond || got > 98*time.Millisecond {
		t.Errorf("one frame increased 100ms to %v, want some three per cent", got)
	}
	if got := slow.Increase(500, 100).Every; got != 10*time.Millisecond {
		t.Errorf("it was increased to %v, want the agent's own 10ms", got)
	}
	if got := slow.Increase(500, 0); got != (outgoing.RateLimit{}) {
		t.Errorf("an agent without a rate was increased to %v, want no limit", got)
	}
	if got := (outgoing.RateLimit{}).Increase(1, 0); got != (outgoing.RateLimit{}) {
		t.Errorf("an agent without a rate limit was increased to %v", got)
	}
}

func TestRelease_LastReservationOnly(t *testing.T) {
	t.Parallel()
	first, p := outgoing.RateLimit{}.Lease(noon, 100, 10)
	second, p := p.Lease(noon, 50, 10)
	stopped := noon.Add(4 * time.Second)
	if got := p.ReturnReservation(stopped, first, 100); got != p {
		t.Errorf("the reservation before the last was freed: the next message may go at %v", got.Next)
	}
	if got := p.ReturnReservation(stopped, second, 50); !got.Next.Equal(stopped) {
		t.Errorf("the next message may go at %v, want %v", got.Next, stopped)
	}
	over := noon.Add(time.Minute)
	if got := p.ReturnReservation(over, second, 50); got != p {
		t.Errorf("a reservation that is over was freed: the next message may go at %v", got.Next)
	}
}
