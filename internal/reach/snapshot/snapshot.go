// Package snapshot keeps what was last read about each tenant, in as many bytes as a process has for it.
package snapshot

import (
	"sync"
	"time"
)

const (
	// life is how long a value is used. During that time, a message that was released before may still be sent to a
	// number that is withheld since.
	life = 30 * time.Second
	// clockMargin is more than the difference of two functions' clocks.
	clockMargin = time.Second
	maxTenants  = 200
)

// Cache keeps a value for each tenant. The zero Cache is ready to use.
type Cache[V interface{ Bytes() int }] struct {
	mu      sync.Mutex
	tenants map[string]*kept[V]
}

type kept[V any] struct {
	reading sync.Mutex // held during a read
	value   V
	bytes   int       // that the value takes
	at      time.Time // when the value was read, zero if it must be read again
}

// Get returns the value of a tenant that is at most 30 seconds old and was read at since or later. since is a time of
// another function's clock: a value that was read less than a second after it is read again. read returns the value
// after the last one. What it returns with an error is only the last one of the next read. If all values take more than
// maxBytes, those of the other tenants are dropped.
func (c *Cache[V]) Get(
	tenant string, since time.Time, now func() time.Time, maxBytes int, read func(last V) (V, error),
) (V, error) {
	k := c.of(tenant)
	k.reading.Lock()
	defer k.reading.Unlock()
	at := now()
	last, fresh := c.take(k, since, at)
	if fresh {
		return last, nil
	}
	next, err := read(last)
	if err != nil {
		at = time.Time{}
	}
	c.keep(tenant, k, next, at, maxBytes)
	return next, err
}

func (c *Cache[V]) of(tenant string) *kept[V] {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tenants == nil {
		c.tenants = map[string]*kept[V]{}
	}
	k := c.tenants[tenant]
	if k == nil {
		k = &kept[V]{}
		c.tenants[tenant] = k
	}
	return k
}

// take returns the last value. One that is not fresh is not kept, so that a read can free its memory.
func (c *Cache[V]) take(k *kept[V], since, now time.Time) (last V, fresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !k.at.IsZero() && now.Sub(k.at) < life && !k.at.Before(since.Add(clockMargin)) {
		return k.value, true
	}
	var none V
	last, k.value = k.value, none
	return last, false
}

// keep keeps the value of a tenant, and drops the others if they are too many, or too large.
func (c *Cache[V]) keep(tenant string, k *kept[V], value V, at time.Time, maxBytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k.value, k.bytes, k.at = value, value.Bytes(), at
	c.tenants[tenant] = k
	bytes := 0
	for _, each := range c.tenants {
		bytes += each.bytes
	}
	if len(c.tenants) > maxTenants || bytes > maxBytes {
		c.tenants = map[string]*kept[V]{tenant: k}
	}
}

// Expire lets the value of a tenant be read again.
func (c *Cache[V]) Expire(tenant string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.tenants[tenant]; k != nil {
		k.at = time.Time{}
	}
}
