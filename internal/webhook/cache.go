package webhook

import (
	"sync"
	"time"
)

// forever is the time for which what never changes may be kept.
const forever = time.Duration(1<<63 - 1)

// maxCached is the number of values that a cache keeps at most.
const maxCached = 400

// cache keeps what was read for a while. The zero cache is ready.
type cache[K comparable, V any] struct {
	mu     sync.Mutex
	values map[K]cached[V]
}

type cached[V any] struct {
	value V
	at    time.Time
}

// get returns the value of the key if it was loaded less than a while ago, and
// loads it otherwise. Failures are not kept.
func (c *cache[K, V]) get(key K, now time.Time, while time.Duration, load func() (V, error)) (V, error) {
	c.mu.Lock()
	kept, ok := c.values[key]
	c.mu.Unlock()
	if ok && now.Sub(kept.at) < while {
		return kept.value, nil
	}
	value, err := load()
	if err == nil {
		c.put(key, value, now)
	}
	return value, err
}

// peek returns the value of the key, however old, if it is kept.
func (c *cache[K, V]) peek(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept, ok := c.values[key]
	return kept.value, ok
}

func (c *cache[K, V]) put(key K, value V, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.values == nil || len(c.values) >= maxCached {
		c.values = map[K]cached[V]{}
	}
	c.values[key] = cached[V]{value, now}
}

// drop forgets the key's value.
func (c *cache[K, V]) drop(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.values, key)
}
