// Package lookup looks numbers up in the lists of tenants, which it caches.
package lookup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/reach/suppression"
)

const (
	listsTTL    = 30 * time.Second // how long the rows of lists are cached
	clockMargin = time.Second      // more than the difference of two functions' clocks
	// maxWarm and maxWarmBytes limit the cache. If a tenant exceeds a limit, the others are evicted. One tenant
	// with MaxNumbers numbers is below maxWarmBytes.
	maxWarm      = 200
	maxWarmBytes = 160 << 20
	// maxNumbers is the maximum number of numbers of a tenant that are read. Concurrent changes of several lists can
	// exceed MaxNumbers, and a process without memory would send nothing for the other tenants either.
	maxNumbers = 2 * suppression.MaxNumbers
	// loadsAtOnce is the number of segments that are read concurrently. 64 lists of 16 segments, one after the other,
	// take longer than a dry run has.
	loadsAtOnce = 16
)

// Cache looks numbers up in the lists of tenants.
type Cache struct {
	Store interface {
		// Lists returns the lists of a tenant, deleted ones included, ordered by name.
		Lists(ctx context.Context, tenant string) ([]suppression.List, error)
	}
	Blobs interface {
		// Get returns an object. The error wraps campaign.ErrNotFound if there is none.
		Get(ctx context.Context, key string) ([]byte, error)
	}
	Now func() time.Time

	mu      sync.Mutex
	tenants map[string]*known
}

// known are the cached lists of a tenant.
type known struct {
	loading sync.Mutex         // held during a read
	lists   []suppression.List // without deleted ones
	parts   map[string]numberset.Lookup
	at      time.Time // when lists were read
	bytes   int       // memory of parts, guarded by Cache.mu
}

// Of returns a function that returns the number of the list that keeps a message of a purpose from a
// phone number, 0 for none. The lists are at most 30 seconds old and were read at since or later, a
// time of another function's clock. A damaged or missing segment is an error.
func (s *Cache) Of(
	ctx context.Context, tenant string, traffic campaign.Traffic, since time.Time,
) (func(phone string) (list int), error) {
	k := s.known(tenant)
	k.loading.Lock()
	defer k.loading.Unlock()
	now := s.Now()
	if k.at.IsZero() || now.Sub(k.at) >= listsTTL || k.at.Before(since.Add(clockMargin)) {
		err := s.refresh(ctx, tenant, k, now)
		s.evict(tenant, k) // also after an error: what was read stays
		if err != nil {
			return nil, fmt.Errorf("look up lists of tenant %s: %w", tenant, err)
		}
	}
	return newFinder(k, traffic, now).find, nil
}

func (s *Cache) known(tenant string) *known {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tenants == nil {
		s.tenants = map[string]*known{}
	}
	k := s.tenants[tenant]
	if k == nil {
		k = &known{parts: map[string]numberset.Lookup{}}
		s.tenants[tenant] = k
	}
	return k
}

// refresh reads the lists and those of their segments that are not cached. After an error nothing is known.
func (s *Cache) refresh(ctx context.Context, tenant string, k *known, now time.Time) error {
	k.at = time.Time{}
	lists, err := s.Store.Lists(ctx, tenant)
	if err != nil {
		return err
	}
	used, numbers := map[string]suppression.Segment{}, 0
	for _, l := range suppression.Live(lists) {
		for _, segment := range suppression.Effective(l.Segments, now) {
			used[segment.ID] = segment
			numbers += segment.Numbers
		}
	}
	if numbers > maxNumbers {
		return fmt.Errorf("%w: %d numbers", suppression.ErrTooLarge, numbers)
	}
	maps.DeleteFunc(k.parts, func(id string, _ numberset.Lookup) bool { return used[id].ID == "" })
	maps.DeleteFunc(used, func(id string, _ suppression.Segment) bool { _, cached := k.parts[id]; return cached })
	if err := s.loadAll(ctx, used, k.parts); err != nil {
		return err
	}
	k.lists, k.at = suppression.Live(lists), now
	return nil
}

// loadAll reads segments into parts. Those that were read stay there after an error.
func (s *Cache) loadAll(ctx context.Context, segments map[string]suppression.Segment, parts map[string]numberset.Lookup) error {
	var mu sync.Mutex
	loads, ctx := errgroup.WithContext(ctx)
	loads.SetLimit(loadsAtOnce)
	for id, segment := range segments {
		loads.Go(func() error {
			part, err := s.load(ctx, segment)
			if err == nil {
				mu.Lock()
				parts[id] = part
				mu.Unlock()
			}
			return err
		})
	}
	return loads.Wait() //nolint:wrapcheck // load has wrapped it
}

// load reads a segment.
func (s *Cache) load(ctx context.Context, segment suppression.Segment) (numberset.Lookup, error) {
	packed, err := s.Blobs.Get(ctx, segment.ID)
	if err != nil && !errors.Is(err, campaign.ErrNotFound) {
		return numberset.Lookup{}, fmt.Errorf("segment %s: %w", segment.ID, err)
	}
	var part numberset.Lookup
	if err == nil {
		part, err = numberset.NewFilteredLookup(packed)
	}
	if err == nil && part.Len() != segment.Numbers {
		err = campaign.ErrDamaged
	}
	if err != nil {
		metrics.Add(ctx, metrics.ListsUnreadable, 1)
		slog.ErrorContext(ctx, "segment of a list missing or damaged", "key", segment.ID, "error", err)
		return part, fmt.Errorf("segment %s: %w", segment.ID, err)
	}
	return part, nil
}

// evict removes the other tenants from the cache if it is too large.
func (s *Cache) evict(tenant string, k *known) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k.bytes = 0
	for _, part := range k.parts {
		k.bytes += part.Bytes()
	}
	bytes := 0
	for _, each := range s.tenants {
		bytes += each.bytes
	}
	if len(s.tenants) > maxWarm || bytes > maxWarmBytes {
		s.tenants = map[string]*known{tenant: k}
	}
}

// finder looks numbers up in the lists that apply to messages of one purpose.
type finder struct{ lists []foundList }

type foundList struct {
	suppression.List
	parts []part // newest first
}

type part struct {
	remove  bool
	numbers numberset.Lookup
}

func newFinder(k *known, traffic campaign.Traffic, now time.Time) *finder {
	f := &finder{}
	for _, l := range k.lists {
		if !l.AppliesTo(traffic, now) {
			continue
		}
		found := foundList{List: l}
		for _, s := range slices.Backward(suppression.Effective(l.Segments, now)) {
			if numbers, ok := k.parts[s.ID]; ok {
				found.parts = append(found.parts, part{s.Remove, numbers})
			}
		}
		f.lists = append(f.lists, found)
	}
	return f
}

func (f *finder) find(phone string) (list int) {
	if len(f.lists) == 0 {
		return 0
	}
	number := uint64(e164.FromText(phone)) // no list has 0
	for i := range f.lists {
		if l := &f.lists[i]; l.has(number) && l.Covers(number) {
			return l.Number
		}
	}
	return 0
}

// has reports whether the number is on the list: its newest segment with the number decides.
func (l *foundList) has(number uint64) bool {
	for _, p := range l.parts {
		if p.numbers.Has(number) {
			return !p.remove
		}
	}
	return false
}

// Names returns the names of a tenant's lists by number, deleted ones included.
func (s *Cache) Names(ctx context.Context, tenant string) (map[int]string, error) {
	lists, err := s.Store.Lists(ctx, tenant)
	if err != nil {
		return nil, fmt.Errorf("read the names of lists: %w", err)
	}
	return suppression.Names(lists), nil
}
