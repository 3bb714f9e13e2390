package dispatch

import (
	"container/list"
	"fmt"
	"sync"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/phone/numberset"
)

// SeenNumbers caches the numbers of earlier batches, by campaign. Only newer sets are read:
// nothing but an erasure changes a set, and a cached one may still contain the erased number.
// The zero SeenNumbers is empty.
type SeenNumbers struct {
	// Limit is the maximum size of the cache in bytes. The least recently used
	// campaigns are evicted.
	Limit int

	mu        sync.Mutex
	campaigns map[campaign.ID]*cachedCampaign
	lru       list.List // of *cachedCampaign, most recently used first
	bytes     int       // total of all campaigns
}

type cachedCampaign struct {
	id      campaign.ID
	created int64 // in milliseconds since 1970; a deleted campaign's id may be reused
	ordinal int   // last merged set
	numbers numberset.Merged
	bytes   int // as counted in SeenNumbers.bytes
	element *list.Element
}

// overhead is the memory of a cached campaign in bytes, without its numbers.
const overhead = 512

// Known returns the ordinal of the last cached set of the campaign, or 0.
func (e *SeenNumbers) Known(id campaign.ID) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r := e.campaigns[id]; r != nil {
		return r.ordinal
	}
	return 0
}

// Find merges the new sets and returns those of the numbers that an earlier batch
// holds. complete is false if a set is missing: an eventually consistent read did not
// return it, or the cached sets belong to a deleted campaign with the same id. It is also
// false if numbers were found and a set is newer than meta: a batch was accepted between the
// reads, and the other rows of the call, read with meta, may not show what it did.
func (e *SeenNumbers) Find(
	id campaign.ID, meta acceptance.Meta, sets []acceptance.PackedSet, numbers numberset.Set,
) (found numberset.Set, complete bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r, err := e.remember(id, meta.CreatedAt, sets)
	if err != nil || r.ordinal < meta.Batches {
		return nil, false, err
	}
	found = r.numbers.Intersect(numbers)
	return found, len(found) == 0 || r.ordinal == meta.Batches, nil
}

// Add caches a set that this process has just written. created is the campaign's
// creation time. A set that cannot be cached is read when it is needed.
func (e *SeenNumbers) Add(id campaign.ID, created time.Time, set acceptance.PackedSet) {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, _ = e.remember(id, created, []acceptance.PackedSet{set})
}

// remember merges the sets that follow the cached ones, and evicts the least recently
// used campaigns beyond Limit.
func (e *SeenNumbers) remember(id campaign.ID, created time.Time, sets []acceptance.PackedSet) (*cachedCampaign, error) {
	r := e.getOrCreate(id, created.UnixMilli())
	if err := r.merge(sets); err != nil {
		e.drop(r)
		return nil, fmt.Errorf("merge the numbers of campaign %s: %w", id.CampaignID, err)
	}
	e.bytes -= r.bytes
	r.bytes = overhead + r.numbers.Bytes()
	e.bytes += r.bytes
	for e.bytes > e.Limit && e.lru.Len() > 1 {
		e.drop(e.lru.Back().Value.(*cachedCampaign))
	}
	return r, nil
}

func (e *SeenNumbers) getOrCreate(id campaign.ID, created int64) *cachedCampaign {
	if r := e.campaigns[id]; r != nil {
		if r.created == created {
			e.lru.MoveToFront(r.element)
			return r
		}
		e.drop(r)
	}
	if e.campaigns == nil {
		e.campaigns = map[campaign.ID]*cachedCampaign{}
	}
	r := &cachedCampaign{id: id, created: created}
	r.element = e.lru.PushFront(r)
	e.campaigns[id] = r
	return r
}

func (e *SeenNumbers) drop(r *cachedCampaign) {
	e.bytes -= r.bytes
	e.lru.Remove(r.element)
	delete(e.campaigns, r.id)
}

// merge adds the sets that follow the merged ones.
func (r *cachedCampaign) merge(sets []acceptance.PackedSet) error {
	var packed [][]byte
	next := r.ordinal + 1
	for _, set := range sets {
		if set.Ordinal == next {
			packed = append(packed, set.Packed)
			next++
		}
	}
	if err := r.numbers.Add(packed...); err != nil {
		return err
	}
	r.ordinal = next - 1
	return nil
}
