package oauth

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"campaign-dispatch/internal/oauth/authrow"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestPass_Limit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var window authrow.Window
		var through []time.Time
		now := noon
		for i := range rapid.IntRange(1, 80).Draw(t, "requests") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(9*time.Second)).Draw(t, "gap")))
			next, wait := pass(window, now, uint64(i))
			recent := 0
			for _, at := range through {
				if now.Sub(at) < period {
					recent++
				}
			}
			if admitted := wait == 0; admitted != (recent < limit) {
				t.Fatalf("request %d: admitted %t after %d in the last minute", i, admitted, recent)
			}
			if wait > 0 {
				if _, again := pass(window, now.Add(wait), 0); again != 0 {
					t.Fatalf("request %d: still refused after the wait of %s", i, wait)
				}
				if _, early := pass(window, now.Add(wait-1), 0); early == 0 {
					t.Fatalf("request %d: admitted before the wait of %s was over", i, wait)
				}
				continue
			}
			window, through = next, append(through, now)
		}
	})
}

func TestPass_ClockSkew(t *testing.T) {
	t.Parallel()
	window, _ := pass(nil, noon, 1)
	window, _ = pass(window, noon.Add(-time.Second), 2)
	if got := window[1].At; !got.Equal(noon) {
		t.Errorf("the later pass is at %s, want no earlier than %s", got, noon)
	}
}

func TestPass_WindowNotModified(t *testing.T) {
	t.Parallel()
	backing := make(authrow.Window, 1, limit)
	backing[0] = authrow.Pass{At: noon, ID: 1}
	first, _ := pass(backing, noon, 2)
	second, _ := pass(backing, noon, 3)
	if first[1].ID != 2 || second[1].ID != 3 {
		t.Errorf("windows share memory: %v %v", first, second)
	}
}

func TestFreePlaces_Limit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		places := make(authrow.Places, failureLimit)
		var through []time.Time
		now := noon
		for i := range rapid.IntRange(1, 300).Draw(t, "failures") {
			now = now.Add(time.Duration(rapid.IntRange(0, 1500).Draw(t, "gap")) * time.Millisecond)
			free, wait := freePlaces(places, now)
			recent := 0
			for _, at := range through {
				if now.Sub(at) < period {
					recent++
				}
			}
			if admitted := wait == 0; admitted != (recent < failureLimit) {
				t.Fatalf("failure %d: admitted %t after %d in the last minute", i, admitted, recent)
			}
			if wait > 0 {
				if _, again := freePlaces(places, now.Add(wait)); again != 0 {
					t.Fatalf("failure %d: still refused after the wait of %s", i, wait)
				}
				if _, early := freePlaces(places, now.Add(wait-1)); early == 0 {
					t.Fatalf("failure %d: admitted before the wait of %s was over", i, wait)
				}
				continue
			}
			places[rapid.SampledFrom(free).Draw(t, "place")] = authrow.Pass{At: now}
			through = append(through, now)
		}
	})
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"203.0.113.7":            "203.0.113.7",
		"::ffff:203.0.113.7":     "203.0.113.7",
		"2001:db8:1:2:3:4:5:6":   "2001:db8:1:2::/64",
		"2001:db8:1:2::":         "2001:db8:1:2::/64",
		"fe80::1%eth0":           "fe80::/64",
		"":                       "",
		"no address, but a host": "no address, but a host",
	}
	for address, want := range tests {
		if got := network(address); got != want {
			t.Errorf("network(%q) = %q, want %q", address, got, want)
		}
	}
}
