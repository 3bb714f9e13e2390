package suppression

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/phone/numberset"
)

const (
	listsTTL    = 30 * time.Second // how long the rows of lists are cached
	clockMargin = time.Second      // more than the difference of two functions' clocks
	// maxWarm and maxWarmBytes limit the cache. If a tenant exceeds a limit, the others are evicted. One tenant
	// with MaxNumbers numbers is below maxWarmBytes.
	maxWarm      = 200
	maxWarmBytes = 160 << 20
)

// Lookup looks numbers up in the lists of tenants, which it caches.
type Lookup struct {
	Store interface {
		Lists(ctx context.Context, tenant string) ([]List, error)
	}
	Blobs interface {
		Get(ctx context.Context, key string) ([]byte, error)
	}
	Now func() time.Time

	mu      sync.Mutex
	tenants map[string]*known
}

var errDamaged = errors.New("damaged list")

// known are the cached lists of a tenant.
type known struct {
	loading sync.Mutex // held during a read
	lists   []List     // without deleted ones
	parts   map[string]numberset.Lookup
	at      time.Time // when lists were read
	bytes   int       // memory of parts, guarded by Lookup.mu
}

// Of returns a function that returns the number of the list that keeps a message of a purpose from a
// phone number, 0 for none. The lists are at most 30 seconds old and were read at since or later, a
// time of another function's clock. A damaged or missing segment is an error.
func (s *Lookup) Of(
	ctx context.Context, tenant string, traffic campaign.Traffic, since time.Time,
) (func(phone string) (list int), error) {
	k := s.known(tenant)
	k.loading.Lock()
	defer k.loading.Unlock()
	now := s.Now()
	if k.at.IsZero() || now.Sub(k.at) >= listsTTL || k.at.Before(since.Add(clockMargin)) {
		if err := s.refresh(ctx, tenant, k); err != nil {
			return nil, fmt.Errorf("look up lists of tenant %s: %w", tenant, err)
		}
		k.at = now
		s.evict(tenant, k)
	}
	return newFinder(k, traffic, now).find, nil
}

func (s *Lookup) known(tenant string) *known {
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

// refresh reads the lists, and again if a segment was replaced before it was read.
func (s *Lookup) refresh(ctx context.Context, tenant string, k *known) error {
	var before []List
	for {
		lists, err := s.Store.Lists(ctx, tenant)
		if err != nil {
			return err
		}
		lists = Live(lists)
		parts, err := s.load(ctx, lists, k.parts)
		if errors.Is(err, campaign.ErrNotFound) && !sameVersions(before, lists) {
			before = lists
			continue
		}
		if err != nil {
			return err
		}
		k.lists, k.parts = lists, parts
		return nil
	}
}

func sameVersions(a, b []List) bool {
	return slices.EqualFunc(a, b, func(a, b List) bool { return a.Name == b.Name && a.Version == b.Version })
}

// load returns the segments of the lists that have an effect. Those in before are not read again.
func (s *Lookup) load(ctx context.Context, lists []List, before map[string]numberset.Lookup) (map[string]numberset.Lookup, error) {
	parts := map[string]numberset.Lookup{}
	for _, l := range lists {
		for _, segment := range Effective(l.Segments, s.Now()) {
			part, ok := before[segment.ID]
			if !ok {
				packed, err := s.Blobs.Get(ctx, segment.ID)
				if err == nil {
					part, err = numberset.NewFilteredLookup(packed)
				}
				if err == nil && part.Len() != segment.Numbers {
					err = errDamaged
				}
				if err != nil {
					return nil, fmt.Errorf("list %s: segment %s: %w", l.Name, segment.ID, err)
				}
			}
			parts[segment.ID] = part
		}
	}
	return parts, nil
}

// evict removes the other tenants from the cache if it is too large.
func (s *Lookup) evict(tenant string, k *known) {
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
	List
	parts []part // newest first
}

type part struct {
	remove  bool
	numbers numberset.Lookup
}

func newFinder(k *known, traffic campaign.Traffic, now time.Time) *finder {
	f := &finder{}
	for _, l := range k.lists {
		if !l.appliesTo(traffic, now) {
			continue
		}
		found := foundList{List: l}
		for _, s := range slices.Backward(Effective(l.Segments, now)) {
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
	number, err := strconv.ParseUint(strings.TrimPrefix(phone, "+"), 10, 64)
	if err != nil {
		return 0
	}
	for i := range f.lists {
		if l := &f.lists[i]; l.has(number) && l.covers(number) {
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
func (s *Lookup) Names(ctx context.Context, tenant string) (map[int]string, error) {
	lists, err := s.Store.Lists(ctx, tenant)
	if err != nil {
		return nil, fmt.Errorf("read the names of lists: %w", err)
	}
	return Names(lists), nil
}
