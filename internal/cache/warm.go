// Package cache keeps in the memory of a process what it has read, for a while.
package cache

import (
	"sync"
	"time"
)

// Forever is the time for which what never changes may be kept.
const Forever = time.Duration(1<<63 - 1)

// Options say how values are kept.
type Options struct {
	TTL        time.Duration // so long a value is taken for what it was
	MaxEntries int           // values at most: one more, and the others are forgotten
}

// Cache keeps values by their keys. The zero Cache is ready.
type Cache[K comparable, V any] struct {
	mu     sync.Mutex
	values map[K]kept[V]
}

type kept[V any] struct {
	value V
	at    time.Time
}

// Get returns the value of the key if it is kept on these terms, and loads and
// keeps it otherwise. Failures are not kept.
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

// Peek returns the value of the key if it was put less than a while ago.
func (c *Cache[K, V]) Peek(key K, now time.Time, while time.Duration) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.values[key]
	if !ok || now.Sub(found.at) >= while {
		return value, false
	}
	return found.value, true
}

// Put keeps a value as of now, beside most-1 others.
func (c *Cache[K, V]) Put(key K, value V, now time.Time, most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.values == nil || len(c.values) >= most {
		c.values = map[K]kept[V]{}
	}
	c.values[key] = kept[V]{value, now}
}

// Drop forgets the key's value.
func (c *Cache[K, V]) Drop(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.values, key)
}
