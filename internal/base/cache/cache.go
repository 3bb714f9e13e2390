// Package cache caches values in memory.
package cache

import (
	"sync"
	"time"
)

// Forever is the TTL of immutable values.
const Forever = time.Duration(1<<63 - 1)

// Options configure a cache entry.
type Options struct {
	TTL        time.Duration // time to live
	MaxEntries int           // maximum size; a full cache is cleared
}

// Cache is an in-memory cache. The zero Cache is ready to use.
type Cache[K comparable, V any] struct {
	mu     sync.Mutex
	values map[K]kept[V]
}

type kept[V any] struct {
	value V
	at    time.Time
}

// Get returns the cached value of the key, or loads and caches it. Errors are not cached.
func (c *Cache[K, V]) Get(key K, now time.Time, terms Options, load func() (V, error)) (V, error) {
	if value, ok := c.Peek(key, now, terms.TTL); ok {
		return value, nil
	}
	value, err := load()
	if err == nil {
		c.Put(key, value, now, terms.MaxEntries)
	}
	return value, err
}

// Peek returns the cached value of the key if it is younger than while.
func (c *Cache[K, V]) Peek(key K, now time.Time, while time.Duration) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.values[key]
	if !ok || now.Sub(found.at) >= while {
		return value, false
	}
	return found.value, true
}

// Put caches a value. A cache with most entries is cleared first.
func (c *Cache[K, V]) Put(key K, value V, now time.Time, most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.values == nil || len(c.values) >= most {
		c.values = map[K]kept[V]{}
	}
	c.values[key] = kept[V]{value, now}
}

// Drop removes the key.
func (c *Cache[K, V]) Drop(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.values, key)
}
