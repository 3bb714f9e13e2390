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
	"campaign-dispatch/internal/reach/lists"
	"campaign-dispatch/internal/reach/snapshot"
)

const (
	maxBytes = 160 << 20 // of the numbers in memory; MaxNumbers numbers of one tenant take less
	// maxNumbers is the maximum number of numbers of a tenant that are read. Concurrent changes of several lists can
	// exceed MaxNumbers, and a process without memory would send nothing for the other tenants either.
	maxNumbers = 2 * lists.MaxNumbers
	// loadsAtOnce is the number of segments that are read concurrently. 64 lists of 16 segments, one after the other,
	// take longer than a dry run has.
	loadsAtOnce = 16
)

// Cache looks numbers up in the lists of tenants.
type Cache struct {
	Store interface {
		// Lists returns the lists of a tenant, deleted ones included, ordered by name.
		Lists(ctx context.Context, tenant string) ([]lists.List, error)
	}
	Blobs interface {
		// Get returns an object. The error wraps campaign.ErrNotFound if there is none.
		Get(ctx context.Context, key string) ([]byte, error)
	}
	Now func() time.Time

	tenants snapshot.Cache[known]
}

// known are the lists of a tenant with their numbers.
type known struct {
	lists []lists.List // without deleted ones
	parts map[string]numberset.Lookup
}

// Bytes returns the memory that the numbers take.
func (k known) Bytes() (bytes int) {
	for _, part := range k.parts {
		bytes += part.Bytes()
	}
	return bytes
}

// KeptBy returns a function that returns the number of the list that keeps a message of a purpose from a
// phone number, 0 for none. The lists are at most 30 seconds old and were read at since or later, a
// time of another function's clock. A damaged or missing segment is an error.
func (s *Cache) KeptBy(
	ctx context.Context, tenant string, traffic campaign.Traffic, since time.Time,
) (func(phone e164.Number) (list int), error) {
	k, err := s.tenants.Get(tenant, since, s.Now, maxBytes, func(last known) (known, error) {
		return s.refresh(ctx, tenant, last.parts)
	})
	if err != nil {
		return nil, fmt.Errorf("look up lists of tenant %s: %w", tenant, err)
	}
	return newFinder(k, traffic, s.Now()).find, nil
}

// refresh reads the lists, and those of their segments that are not among the parts. It returns the parts with an error.
func (s *Cache) refresh(ctx context.Context, tenant string, parts map[string]numberset.Lookup) (known, error) {
	all, err := s.Store.Lists(ctx, tenant)
	if err != nil {
		return known{parts: parts}, err
	}
	used, numbers := map[string]lists.Segment{}, 0
	for _, l := range lists.Live(all) {
		for _, segment := range lists.Effective(l.Segments, s.Now()) {
			used[segment.ID] = segment
			numbers += segment.Numbers
		}
	}
	if numbers > maxNumbers {
		return known{parts: parts}, fmt.Errorf("%w: %d numbers", lists.ErrTooLarge, numbers)
	}
	parts = usedOf(parts, used)
	maps.DeleteFunc(used, func(id string, _ lists.Segment) bool { _, cached := parts[id]; return cached })
	return known{lists.Live(all), parts}, s.loadAll(ctx, used, parts)
}

// usedOf returns those of the parts that are used: the others are freed before more are read.
func usedOf(parts map[string]numberset.Lookup, used map[string]lists.Segment) map[string]numberset.Lookup {
	kept := map[string]numberset.Lookup{}
	for id := range used {
		if part, cached := parts[id]; cached {
			kept[id] = part
		}
	}
	return kept
}

// loadAll reads segments into parts. Those that were read stay there after an error.
func (s *Cache) loadAll(ctx context.Context, segments map[string]lists.Segment, parts map[string]numberset.Lookup) error {
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
func (s *Cache) load(ctx context.Context, segment lists.Segment) (numberset.Lookup, error) {
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

// finder looks numbers up in the lists that apply to messages of one purpose.
type finder struct{ lists []foundList }

type foundList struct {
	lists.List
	parts []part // newest first
}

type part struct {
	remove  bool
	numbers numberset.Lookup
}

func newFinder(k known, traffic campaign.Traffic, now time.Time) *finder {
	f := &finder{}
	for _, l := range k.lists {
		if !l.AppliesTo(traffic, now) {
			continue
		}
		found := foundList{List: l}
		for _, s := range slices.Backward(lists.Effective(l.Segments, now)) {
			if numbers, ok := k.parts[s.ID]; ok {
				found.parts = append(found.parts, part{s.Remove, numbers})
			}
		}
		f.lists = append(f.lists, found)
	}
	return f
}

func (f *finder) find(phone e164.Number) (list int) {
	number := uint64(phone)
	for i := range f.lists {
		if l := &f.lists[i]; l.contains(number) && l.Covers(number) {
			return l.Number
		}
	}
	return 0
}

// contains reports whether the number is on the list: its newest segment with the number decides.
func (l *foundList) contains(number uint64) bool {
	for _, p := range l.parts {
		if p.numbers.Has(number) {
			return !p.remove
		}
	}
	return false
}

// Names returns the names of a tenant's lists by number, deleted ones included.
func (s *Cache) Names(ctx context.Context, tenant string) (map[int]string, error) {
	return lists.Names(ctx, tenant, s.Store.Lists)
}
