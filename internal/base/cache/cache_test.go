package cache_test

import (
	"errors"
	"testing"
	"time"

	"campaign-dispatch/internal/base/cache"
)

func TestCache(t *testing.T) {
	t.Parallel()
	var c cache.Cache[string, int]
	now, terms, loads := time.Unix(0, 0), cache.Options{TTL: time.Minute, MaxEntries: 2}, 0
	get := func(key string, after time.Duration, want int) {
		t.Helper()
		got, err := c.Get(key, now.Add(after), terms, func() (int, error) { loads++; return loads, nil })
		if got != want || err != nil {
			t.Errorf("%s after %v: %d, %v; want %d", key, after, got, err, want)
		}
	}
	get("a", 0, 1)
	get("a", time.Minute-1, 1)
	get("a", time.Minute, 2) // expired
	get("b", time.Minute, 3)
	c.Drop("b")
	get("b", time.Minute, 4)
	get("c", time.Minute, 5) // exceeds the size: the cache is cleared
	get("c", time.Minute, 5)
	get("a", time.Minute, 6)

	failure := errors.New("throttled")
	if _, err := c.Get("d", now, terms, func() (int, error) { return 0, failure }); !errors.Is(err, failure) {
		t.Errorf("%v, want the failure", err)
	}
	if value, ok := c.Peek("d", now, cache.Forever); ok {
		t.Errorf("a failure is kept as %d", value)
	}
}
