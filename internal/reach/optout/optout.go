// Package optout stores the numbers that opted out of a tenant's messages, as packed
// sets in shards, and caches them for senders. A shard that exceeds the size of a row
// is divided into parts.
package optout

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/reach/snapshot"
)

// Store reads and writes the shards.
type Store interface {
	// OptOuts returns the existing shards of a tenant. Parts are named, without their numbers.
	OptOuts(ctx context.Context, tenant string) ([]campaign.OptOuts, error)
	// OptOutShard returns one shard. Its Version is 0 if it does not exist.
	OptOutShard(ctx context.Context, tenant string, shard int) (campaign.OptOuts, error)
	// OptOutParts returns up to 100 parts of a shard by ID, without those that do not exist.
	OptOutParts(ctx context.Context, tenant string, shard int, ids []string) (map[string]campaign.OptOutPart, error)
	// SwapOptOuts writes the next version of a shard if its stored Version is still
	// o's, writes the parts that have their numbers, and deletes the parts in gone. It
	// reports whether it did.
	SwapOptOuts(ctx context.Context, tenant string, o campaign.OptOuts, gone ...string) (bool, error)
}

// Shards is the number of shards of a tenant's opt-outs.
const Shards = 16

const (
	// maxRow is the maximum size of a shard in one row, in bytes: about 100,000
	// numbers. DynamoDB's limit is 400 kB. A tenant's shards are divided from about 1.5
	// million numbers.
	maxRow = 300_000
	// maxPart is the maximum size of a part in bytes. Every opt-out rewrites a part, so small parts cost less.
	maxPart = 64_000
	// maxChanges is the maximum number of changes per write. They add at most 120 kB.
	maxChanges = 5_000
	tries      = 30 // maximum number of attempts to write a shard
)

// Book stores opt-outs.
type Book struct {
	Store Store
	Now   func() time.Time
	// MaxRow and MaxPart are the maximum sizes in bytes of a shard in one row and of a
	// part; 0 selects the production limits.
	MaxRow, MaxPart int

	tenants snapshot.Cache[*Numbers]
}

// place is where a number is stored: a shard in one row, or a part.
type place struct {
	shard
	row   campaign.OptOuts
	part  int    // in row.Parts, -1 for a shard in one row
	until uint64 // first number of the next part
}

func (b *Book) find(ctx context.Context, tenant string, number uint64) (place, error) {
	for try := range readTries {
		if err := retry.Wait(ctx, try); err != nil {
			return place{}, err
		}
		row, err := b.Store.OptOutShard(ctx, tenant, int(number%Shards))
		if err != nil {
			return place{}, err
		}
		p, found, err := b.findIn(ctx, tenant, row, number)
		if err != nil {
			return place{}, fmt.Errorf("shard %d of the opt-outs of tenant %s: %w", row.Shard, tenant, err)
		}
		if found {
			return p, nil
		}
	}
	return place{}, fmt.Errorf("shard %d of the opt-outs of tenant %s: %w", number%Shards, tenant, campaign.ErrLostRace)
}

// findIn reads the place of a number in a shard. found is false if the part was divided since the shard was read.
func (b *Book) findIn(ctx context.Context, tenant string, row campaign.OptOuts, number uint64) (p place, found bool, err error) {
	if err := check(row); err != nil {
		return p, false, err
	}
	p = place{row: row, part: -1, until: math.MaxUint64}
	if row.Version == 0 && row.Packed == nil {
		return p, true, nil
	}
	if len(row.Parts) == 0 {
		p.shard, err = unpack(row.Packed, row.Recent, row.Origins)
		return p, true, err
	}
	p.part = placeOf(row.Parts, number, func(part campaign.OptOutPart) uint64 { return part.From })
	if p.part+1 < len(row.Parts) {
		p.until = row.Parts[p.part+1].From
	}
	id := row.Parts[p.part].ID
	read, err := b.Store.OptOutParts(ctx, tenant, row.Shard, []string{id})
	if err != nil {
		return p, false, err
	}
	content, found := read[id]
	if found {
		p.shard, err = unpack(content.Packed, content.Recent, content.Origins)
	}
	return p, found, err
}

// write writes the changes of a place, divided into parts if it is too large. It
// returns false if the shard was changed concurrently.
func (b *Book) write(ctx context.Context, tenant string, p place) (bool, error) {
	row, now := p.row, b.Now()
	if p.part < 0 {
		whole := p.pack(now)
		if whole.size() <= cmp.Or(b.MaxRow, maxRow) {
			row.Packed, row.Recent, row.Origins = whole.packed, whole.recent, whole.origins
			return b.Store.SwapOptOuts(ctx, tenant, row)
		}
		row.Packed, row.Recent, row.Origins = nil, nil, nil
		row.Parts = newParts(p.divide(0, now, cmp.Or(b.MaxPart, maxPart)))
		return b.Store.SwapOptOuts(ctx, tenant, row)
	}
	old := row.Parts[p.part]
	pieces := p.divide(old.From, now, cmp.Or(b.MaxPart, maxPart))
	if len(pieces) == 1 {
		row.Parts = slices.Clone(row.Parts)
		old.Version, old.Packed, old.Recent, old.Origins = old.Version+1, pieces[0].packed, pieces[0].recent, pieces[0].origins
		row.Parts[p.part] = old
		return b.Store.SwapOptOuts(ctx, tenant, row)
	}
	row.Parts = slices.Concat(row.Parts[:p.part], newParts(pieces), row.Parts[p.part+1:])
	return b.Store.SwapOptOuts(ctx, tenant, row, old.ID)
}

func newParts(pieces []piece) (parts []campaign.OptOutPart) {
	for _, piece := range pieces {
		parts = append(parts, campaign.OptOutPart{
			ID: rand.Text(), From: piece.from, Version: 1, Packed: piece.packed, Recent: piece.recent, Origins: piece.origins,
		})
	}
	return parts
}

// WouldChange reports whether a change would take effect: not if the state is the same
// already, or if a later change was recorded.
func (b *Book) WouldChange(ctx context.Context, tenant string, c campaign.OptChange) (bool, error) {
	number, p, err := b.lookUp(ctx, tenant, c.Phone)
	if err != nil {
		return false, err
	}
	before := p.contains(number)
	p.apply(change{number, c.Out, c.At.UnixMilli(), c.Origin})
	return p.contains(number) != before, nil
}

// lookUp reads the place of a phone number.
func (b *Book) lookUp(ctx context.Context, tenant, phone string) (number uint64, p place, err error) {
	if number, err = parse(phone); err == nil {
		p, err = b.find(ctx, tenant, number)
	}
	if err != nil {
		err = fmt.Errorf("look up an opt-out: %w", err)
	}
	return number, p, err
}

// Since reports whether a number is opted out of a tenant's messages, and since when.
// The time is zero if it is no longer known.
func (b *Book) Since(ctx context.Context, tenant, phone string) (out bool, since time.Time, err error) {
	number, p, err := b.lookUp(ctx, tenant, phone)
	if err != nil {
		return false, since, err
	}
	at, lately := p.recent[number]
	if out = p.contains(number); out && lately {
		since = time.UnixMilli(at).UTC()
	}
	return out, since, nil
}

// FirstOut returns the first of several numbers that is opted out, "" for none, and since when as Since does.
func (b *Book) FirstOut(ctx context.Context, tenant string, phones []string) (phone string, since time.Time, err error) {
	for _, p := range phones {
		out, since, err := b.Since(ctx, tenant, p)
		if err != nil {
			return "", since, err
		}
		if out {
			return p, since, nil
		}
	}
	return "", since, nil
}

// Origin returns where the opt-out of a number comes from, 0 if the number is not opted out.
func (b *Book) Origin(ctx context.Context, tenant, phone string) (campaign.Origin, error) {
	number, p, err := b.lookUp(ctx, tenant, phone)
	if err != nil {
		return 0, err
	}
	return p.origin(number), nil
}

// EraseOptIn deletes the time at which a number opted in again, and reports whether there
// was one. A number that is opted out does not change.
func (b *Book) EraseOptIn(ctx context.Context, tenant, phone string) (erased bool, err error) {
	number, err := parse(phone)
	if err != nil {
		return false, fmt.Errorf("erase an opt-in: %w", err)
	}
	for try := range tries {
		if err := retry.Wait(ctx, try); err != nil {
			return false, fmt.Errorf("erase an opt-in: %w", err)
		}
		p, err := b.find(ctx, tenant, number)
		if err != nil {
			return false, fmt.Errorf("erase an opt-in: %w", err)
		}
		if _, lately := p.recent[number]; !lately || p.contains(number) {
			return erased, nil
		}
		delete(p.recent, number)
		swapped, err := b.write(ctx, tenant, p)
		if err != nil {
			return false, fmt.Errorf("erase an opt-in: %w", err)
		}
		erased = true
		if swapped {
			return true, nil
		}
	}
	return false, fmt.Errorf("erase an opt-in to tenant %s: %w", tenant, campaign.ErrLostRace)
}

// Record records the changes of the tenant's opt-outs, in any order and any number of
// times. The latest change of a number takes effect, within the period in which the
// provider repeats events.
func (b *Book) Record(ctx context.Context, tenant string, changes []campaign.OptChange) error {
	var byShard [Shards][]change
	for _, c := range changes {
		read, err := readChange(c)
		if err != nil {
			return fmt.Errorf("record opt-outs: %w", err)
		}
		byShard[read.number%Shards] = append(byShard[read.number%Shards], read)
	}
	defer b.tenants.Expire(tenant)
	for _, pending := range byShard {
		if err := b.record(ctx, tenant, pending); err != nil {
			return fmt.Errorf("record opt-outs of tenant %s: %w", tenant, err)
		}
	}
	return nil
}

func (b *Book) record(ctx context.Context, tenant string, pending []change) error {
	for lost := 0; len(pending) > 0; {
		if err := retry.Wait(ctx, lost); err != nil {
			return err
		}
		p, err := b.find(ctx, tenant, pending[0].number)
		if err != nil {
			return err
		}
		here, elsewhere := p.pick(pending)
		written := true
		if p.apply(here...) {
			if written, err = b.write(ctx, tenant, p); err != nil {
				return err
			}
		}
		if written {
			pending, lost = elsewhere, 0
		} else if lost++; lost == tries {
			return campaign.ErrLostRace
		}
	}
	return nil
}

// pick returns the changes that the place takes in one write, and the others.
func (p place) pick(changes []change) (here, others []change) {
	from := uint64(0)
	if p.part >= 0 {
		from = p.row.Parts[p.part].From
	}
	for _, c := range changes {
		if c.number >= from && (c.number < p.until || p.until == math.MaxUint64) && len(here) < maxChanges {
			here = append(here, c)
		} else {
			others = append(others, c)
		}
	}
	return here, others
}

func readChange(c campaign.OptChange) (change, error) {
	number, err := parse(c.Phone)
	return change{number, c.Out, c.At.UnixMilli(), c.Origin}, err
}

var errNoNumber = errors.New("not a number in E.164")

// parse parses a number. The error does not contain it.
func parse(phone string) (uint64, error) {
	n := e164.FromText(phone)
	if n == 0 {
		return 0, errNoNumber
	}
	return uint64(n), nil
}
