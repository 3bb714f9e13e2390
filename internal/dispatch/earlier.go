package dispatch

import (
	"container/list"
	"fmt"
	"sync"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/phone/numberset"
)

// SeenNumbers remembers the numbers of the earlier batches of the campaigns that
// this process has seen. Packed sets never change, so what is remembered stays
// true; only newer ones are read. The zero Earlier remembers nothing yet.
type SeenNumbers struct {
	// Limit is the number of bytes after which the campaign that was asked for
	// longest ago is forgotten.
	Limit int

	mu        sync.Mutex
	campaigns map[campaign.ID]*remembered
	asked     list.List // of *remembered, the one that was asked for last in front
	bytes     int       // of all that is remembered
}

type remembered struct {
	id      campaign.ID
	created int64 // when, in milliseconds since 1970: once it is forgotten, another campaign may have its id
	ordinal int   // the sets up to this one are merged
	numbers numberset.Merged
	bytes   int // as counted in Earlier.bytes
	place   *list.Element
}

// overhead is what a remembered campaign takes beside its numbers, in bytes.
const overhead = 512

// Known returns the ordinal up to which the campaign's sets are remembered.
func (e *SeenNumbers) Known(id campaign.ID) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r := e.campaigns[id]; r != nil {
		return r.ordinal
	}
	return 0
}

// Find merges the sets that are new and returns those of the numbers that the
// sets of all the campaign's batches hold. It returns false where a set is missing:
// an eventually consistent read had not seen it, or what was remembered is of a
// campaign that had the id before.
func (e *SeenNumbers) Find(id campaign.ID, meta campaign.Meta, sets []campaign.PackedSet, numbers numberset.Set) (numberset.Set, bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r, err := e.remember(id, meta.CreatedAt, sets)
	if err != nil || r.ordinal < meta.Batches {
		return nil, false, err
	}
	return r.numbers.Intersect(numbers), true, nil
}

// Add remembers a set that this process has just written of the campaign that was
// created at that instant. One that cannot be remembered is read when it is needed.
func (e *SeenNumbers) Add(id campaign.ID, created time.Time, set campaign.PackedSet) {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, _ = e.remember(id, created, []campaign.PackedSet{set})
}

// remember merges the sets that follow on what is known of the campaign, and
// forgets the campaigns that were asked for longest ago where that takes too
// much room.
func (e *SeenNumbers) remember(id campaign.ID, created time.Time, sets []campaign.PackedSet) (*remembered, error) {
	r := e.touch(id, created.UnixMilli())
	if err := r.merge(sets); err != nil {
		e.drop(r)
		return nil, fmt.Errorf("merge the numbers of campaign %s: %w", id.CampaignID, err)
	}
	e.bytes -= r.bytes
	r.bytes = overhead + r.numbers.Bytes()
	e.bytes += r.bytes
	for e.bytes > e.Limit && e.asked.Len() > 1 {
		e.drop(e.asked.Back().Value.(*remembered))
	}
	return r, nil
}

func (e *SeenNumbers) touch(id campaign.ID, created int64) *remembered {
	if r := e.campaigns[id]; r != nil {
		if r.created == created {
			e.asked.MoveToFront(r.place)
			return r
		}
		e.drop(r)
	}
	if e.campaigns == nil {
		e.campaigns = map[campaign.ID]*remembered{}
	}
	r := &remembered{id: id, created: created}
	r.place = e.asked.PushFront(r)
	e.campaigns[id] = r
	return r
}

func (e *SeenNumbers) drop(r *remembered) {
	e.bytes -= r.bytes
	e.asked.Remove(r.place)
	delete(e.campaigns, r.id)
}

// merge takes the sets that follow on what is remembered.
func (r *remembered) merge(sets []campaign.PackedSet) error {
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
