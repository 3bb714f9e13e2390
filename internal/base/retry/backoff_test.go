package retry_test

import (
	"testing"
	"time"

	"campaign-dispatch/internal/base/retry"
)

func TestBackoff(t *testing.T) {
	t.Parallel()
	b := retry.Backoff{First: 20 * time.Second, Max: 15 * time.Minute}
	for after, want := range map[int]time.Duration{
		0: 20 * time.Second, 1: 40 * time.Second, 5: 640 * time.Second, 6: 15 * time.Minute, 1 << 40: 15 * time.Minute,
	} {
		if got := b.Delay(after); got != want {
			t.Errorf("after %d delays: %v, want %v", after, got, want)
		}
	}
}

func TestJitter(t *testing.T) {
	t.Parallel()
	for random, want := range map[float64]time.Duration{0: 0, 0.5: time.Second, 0.75: 1500 * time.Millisecond} {
		if got := retry.Jitter(2*time.Second, random); got != want {
			t.Errorf("%v of 2s: %v, want %v", random, got, want)
		}
	}
}

func TestAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"":                              0,
		"7":                             7 * time.Second,
		" 7 ":                           7 * time.Second,
		"-5":                            0,
		"1.5":                           0,
		"soon":                          0,
		"4294967295":                    24 * time.Hour,
		"4294967296":                    0,
		"Sun, 01 Mar 2026 12:02:00 GMT": 2 * time.Minute,
		"Sun, 01 Mar 2026 11:00:00 GMT": 0,
		"Tue, 03 Mar 2026 12:00:00 GMT": 24 * time.Hour,
	} {
		if got := retry.After(header, now); got != want {
			t.Errorf("%q: %v, want %v", header, got, want)
		}
	}
}

func TestHeader_RoundsUp(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{1: "1", time.Second: "1", time.Second + 1: "2", time.Minute: "60"} {
		if got := retry.Header(d); got != want {
			t.Errorf("header of %s: %q, want %q", d, got, want)
		}
	}
}
