package dispatch

import (
	"fmt"
	"sync"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/numberset"
)

// Earlier remembers the numbers of the earlier batches of the campaigns that
// this process has seen. Packed sets never change, so what is remembered stays
// true; only newer ones are read. The zero Earlier remembers nothing yet.
type Earlier struct {
	// Limit is the number of bytes after which the campaign that was asked for
	// longest ago is forgotten.
	Limit int

	mu        sync.Mutex
	campaigns map[campaign.ID]*remembered
	clock     int // counts the questions
}

type remembered struct {
	ordinal int // the sets up to this one are merged
	numbers numberset.Merged
	asked   int // the clock at the last question
}

// Known returns the ordinal up to which the campaign's sets are remembered.
func (e *Earlier) Known(id campaign.ID) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r := e.campaigns[id]; r != nil {
		return r.ordinal
	}
	return 0
}

// Find merges the sets that are new and returns those of the numbers that the
// sets up to ordinal hold. It returns false where a set is missing: an
// eventually consistent read had not seen it.
func (e *Earlier) Find(id campaign.ID, sets []campaign.PackedSet, ordinal int, numbers numberset.Set) (numberset.Set, bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.touch(id)
	if err := r.merge(sets); err != nil {
		delete(e.campaigns, id)
		return nil, false, fmt.Errorf("merge the numbers of campaign %s: %w", id.CampaignID, err)
	}
	if r.ordinal < ordinal {
		return nil, false, nil
	}
	found := r.numbers.Intersect(numbers)
	e.forget(id)
	return found, true, nil
}

// Add remembers a set that this process has just written.
func (e *Earlier) Add(id campaign.ID, set campaign.PackedSet) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.touch(id).merge([]campaign.PackedSet{set}); err != nil {
		delete(e.campaigns, id) // it is read again when it is needed
	}
	e.forget(id)
}

func (e *Earlier) touch(id campaign.ID) *remembered {
	if e.campaigns == nil {
		e.campaigns = map[campaign.ID]*remembered{}
	}
	if e.campaigns[id] == nil {
		e.campaigns[id] = &remembered{}
	}
	e.clock++
	e.campaigns[id].asked = e.clock
	return e.campaigns[id]
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

// forget keeps within the limit by dropping the campaigns that were asked for
// longest ago, but never the one that is being asked for.
func (e *Earlier) forget(keep campaign.ID) {
	for e.bytes() > e.Limit && len(e.campaigns) > 1 {
		var oldest campaign.ID
		asked := e.clock + 1
		for id, r := range e.campaigns {
			if id != keep && r.asked < asked {
				oldest, asked = id, r.asked
			}
		}
		delete(e.campaigns, oldest)
	}
}

func (e *Earlier) bytes() (n int) {
	for _, r := range e.campaigns {
		n += r.numbers.Bytes()
	}
	return n
}
