package optout

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/phone/numberset"
)

const (
	maxBytes   = 64 << 20 // of the numbers in memory
	partsARead = 32       // number of parts read in one call, at most about 2 MB
	readTries  = 10       // maximum number of reads when parts are divided concurrently
)

// Numbers holds the numbers that opted out of one tenant's messages. It is immutable.
type Numbers struct {
	shards [Shards]knownShard
}

// Bytes returns the memory that the numbers take.
func (n *Numbers) Bytes() (bytes int) {
	for i := range n.shards {
		for _, p := range n.shards[i].parts {
			bytes += p.numbers.Bytes()
		}
	}
	return bytes
}

// knownShard is a version of a shard. A shard in a single row has one part.
type knownShard struct {
	version int
	parts   []knownPart // ordered by from; empty if the shard does not exist
}

type knownPart struct {
	from    uint64
	id      string
	version int
	numbers numberset.Lookup
}

// Has reports whether a number has opted out.
func (n *Numbers) Has(phone e164.Number) bool {
	number := uint64(phone)
	parts := n.shards[number%Shards].parts
	return len(parts) > 0 && parts[placeOf(parts, number, func(p knownPart) uint64 { return p.from })].numbers.Has(number)
}

// placeOf returns the index of the part that a number belongs to. The first part begins at 0.
func placeOf[P any](parts []P, number uint64, from func(P) uint64) int {
	after, found := slices.BinarySearchFunc(parts, number, func(p P, number uint64) int { return cmp.Compare(from(p), number) })
	if found {
		return after
	}
	return after - 1
}

// OptedOut returns a lookup of a tenant's opt-outs, which are at most 30 seconds old and were read at since or
// later, a time of another function's clock.
func (b *Book) OptedOut(ctx context.Context, tenant string, since time.Time) (func(phone e164.Number) bool, error) {
	numbers, err := b.read(ctx, tenant, since)
	if err != nil {
		return nil, err
	}
	return numbers.Has, nil
}

// CountOut returns how many of some numbers opted out of a tenant's messages, as of the last 30 seconds.
func (b *Book) CountOut(ctx context.Context, tenant string, some numberset.Set) (n int, err error) {
	numbers, err := b.read(ctx, tenant, time.Time{})
	if err != nil {
		return 0, err
	}
	for _, number := range some {
		if numbers.Has(e164.Number(number)) {
			n++
		}
	}
	return n, nil
}

func (b *Book) read(ctx context.Context, tenant string, since time.Time) (*Numbers, error) {
	numbers, err := b.tenants.Get(tenant, since, b.Now, maxBytes, func(last *Numbers) (*Numbers, error) {
		return b.refresh(ctx, tenant, last)
	})
	if err != nil {
		return nil, fmt.Errorf("look up opt-outs: %w", err)
	}
	return numbers, nil
}

// refresh reads the changes since before, or everything if before is nil. It returns before with an error.
func (b *Book) refresh(ctx context.Context, tenant string, before *Numbers) (*Numbers, error) {
	if before == nil {
		before = &Numbers{}
	}
	next := *before
	for try := range readTries {
		if err := retry.Wait(ctx, try); err != nil {
			return before, err
		}
		rows, err := b.Store.OptOuts(ctx, tenant)
		if err != nil {
			return before, err
		}
		complete := true
		for _, row := range rows {
			found, err := b.refreshShard(ctx, tenant, row, &next)
			if err != nil {
				return before, fmt.Errorf("shard %d of the opt-outs of tenant %s: %w", row.Shard, tenant, err)
			}
			complete = complete && found
		}
		if complete {
			return &next, nil
		}
	}
	return before, fmt.Errorf("the opt-outs of tenant %s: %w", tenant, campaign.ErrLostRace)
}

// refreshShard reads the changes of a shard. complete is false if a part was divided
// before it was read; the shard then stays as before.
func (b *Book) refreshShard(ctx context.Context, tenant string, row campaign.OptOuts, numbers *Numbers) (complete bool, err error) {
	if err := check(row); err != nil {
		return false, err
	}
	before := numbers.shards[row.Shard]
	if len(before.parts) > 0 && before.version == row.Version {
		return true, nil
	}
	if len(row.Parts) == 0 {
		all, err := newLookup(row.Packed, row.Recent)
		numbers.shards[row.Shard] = knownShard{row.Version, []knownPart{{numbers: all}}}
		return true, err
	}
	parts, complete, err := b.refreshParts(ctx, tenant, row, before.parts)
	if err != nil || !complete {
		return false, err
	}
	numbers.shards[row.Shard] = knownShard{row.Version, parts}
	return true, nil
}

func (b *Book) refreshParts(
	ctx context.Context, tenant string, row campaign.OptOuts, before []knownPart,
) (parts []knownPart, complete bool, err error) {
	known := make(map[string]knownPart, len(row.Parts))
	for _, part := range before {
		known[part.id] = part
	}
	var changed []string
	for _, part := range row.Parts {
		if old, ok := known[part.ID]; !ok || old.version < part.Version {
			changed = append(changed, part.ID)
			delete(known, part.ID)
		}
	}
	for ids := range slices.Chunk(changed, partsARead) {
		read, err := b.Store.OptOutParts(ctx, tenant, row.Shard, ids)
		if err != nil {
			return nil, false, err
		}
		for id, part := range read {
			numbers, err := newLookup(part.Packed, part.Recent)
			if err != nil {
				return nil, false, err
			}
			known[id] = knownPart{id: id, version: part.Version, numbers: numbers}
		}
	}
	for _, part := range row.Parts {
		found, ok := known[part.ID]
		if !ok {
			return nil, false, nil
		}
		found.from = part.From
		parts = append(parts, found)
	}
	return parts, true, nil
}

// newLookup also refuses damaged times, although a lookup does not need them.
func newLookup(packed, recent []byte) (numberset.Lookup, error) {
	if err := eachRecent(recent, func(uint64, int64) {}); err != nil {
		return numberset.Lookup{}, err
	}
	return numberset.NewLookup(packed)
}

func check(row campaign.OptOuts) error {
	if row.Shard < 0 || row.Shard >= Shards {
		return errDamaged
	}
	for i, part := range row.Parts {
		if i == 0 && part.From != 0 || i > 0 && part.From <= row.Parts[i-1].From {
			return errDamaged
		}
	}
	return nil
}
