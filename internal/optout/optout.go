// Package optout keeps the numbers that opted out of a tenant's messages: packed
// sets, in shards, warm where messages are sent.
package optout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"campaign-dispatch/internal/backoff"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/warm"
)

// Store keeps the shards.
type Store interface {
	OptOuts(ctx context.Context, tenant string) ([]campaign.OptOuts, error)
	SwapOptOuts(ctx context.Context, tenant string, o campaign.OptOuts) (bool, error)
}

// Shards is the number of shards of a tenant's opt-outs: one holds some 130,000
// numbers at most.
const Shards = 16

const (
	// warmFor is how long opt-outs are taken for what they were: so long a message
	// may still be sent to a number that has opted out.
	warmFor = 30 * time.Second
	// maxWarm is the number of tenants whose opt-outs are kept.
	maxWarm = 200
	// tries is how many lost races for a shard are run again.
	tries = 30
)

// Book keeps opt-outs.
type Book struct {
	Store Store
	Now   func() time.Time

	warm warm.Cache[string, *Numbers]
}

// Numbers are the numbers that opted out of one tenant's messages.
type Numbers struct{ shards [Shards]shard }

// Has tells whether a number in E.164, with or without the leading +, opted out.
func (n *Numbers) Has(phone string) bool {
	number, err := parse(phone)
	if err != nil {
		return false
	}
	_, out := slices.BinarySearch(n.shards[number%Shards].out, number)
	return out
}

// Of returns a look-up of the opt-outs of a tenant, as they were up to 30
// seconds ago.
func (b *Book) Of(ctx context.Context, tenant string) (func(phone string) bool, error) {
	numbers, err := b.warm.Get(tenant, b.Now(), warm.Terms{For: warmFor, Most: maxWarm}, func() (*Numbers, error) {
		numbers, _, err := b.read(ctx, tenant)
		return &numbers, err
	})
	if err != nil {
		return nil, fmt.Errorf("look for opt-outs: %w", err)
	}
	return numbers.Has, nil
}

// Turns tells whether a change would be news by now: not where it is so already,
// or where a later change of the number came before it.
func (b *Book) Turns(ctx context.Context, tenant string, c campaign.OptChange) (bool, error) {
	numbers, _, err := b.read(ctx, tenant)
	if err != nil {
		return false, fmt.Errorf("look for an opt-out: %w", err)
	}
	number, err := parse(c.Phone)
	if err != nil {
		return false, fmt.Errorf("look for an opt-out: %w", err)
	}
	before := numbers.Has(c.Phone)
	numbers.shards[number%Shards].apply(number, c)
	return numbers.Has(c.Phone) != before, nil
}

// Since tells whether a number is opted out of a tenant's messages at present, and
// since when: the zero time where that was so long ago that it is not known any
// more.
func (b *Book) Since(ctx context.Context, tenant, phone string) (out bool, since time.Time, err error) {
	numbers, _, err := b.read(ctx, tenant)
	if err != nil {
		return false, since, fmt.Errorf("look for an opt-out: %w", err)
	}
	number, err := parse(phone)
	if err != nil {
		return false, since, fmt.Errorf("look for an opt-out: %w", err)
	}
	at, lately := numbers.shards[number%Shards].recent[number]
	if out = numbers.Has(phone); out && lately {
		since = time.UnixMilli(at).UTC()
	}
	return out, since, nil
}

// Forget forgets that a number opted in again to a tenant's messages, and tells
// whether there was anything to forget. A number that is opted out stays so.
func (b *Book) Forget(ctx context.Context, tenant, phone string) (forgotten bool, err error) {
	number, err := parse(phone)
	if err != nil {
		return false, fmt.Errorf("forget an opt-in: %w", err)
	}
	for try := range tries {
		if err := backoff.Wait(ctx, try); err != nil {
			return false, fmt.Errorf("forget an opt-in: %w", err)
		}
		numbers, rows, err := b.read(ctx, tenant)
		if err != nil {
			return false, fmt.Errorf("forget an opt-in: %w", err)
		}
		shard, row := &numbers.shards[number%Shards], rows[number%Shards]
		if _, lately := shard.recent[number]; !lately || numbers.Has(phone) {
			return forgotten, nil
		}
		delete(shard.recent, number)
		row.Packed, row.Recent = shard.pack(b.Now())
		swapped, err := b.Store.SwapOptOuts(ctx, tenant, row)
		if err != nil {
			return false, fmt.Errorf("forget an opt-in: %w", err)
		}
		forgotten = true
		if swapped {
			return true, nil
		}
	}
	return false, fmt.Errorf("forget an opt-in to tenant %s: %w", tenant, campaign.ErrLostRace)
}

func (b *Book) read(ctx context.Context, tenant string) (numbers Numbers, rows [Shards]campaign.OptOuts, err error) {
	read, err := b.Store.OptOuts(ctx, tenant)
	if err != nil {
		return numbers, rows, err
	}
	for i := range rows {
		rows[i].Shard = i
	}
	for _, row := range read {
		if row.Shard < 0 || row.Shard >= Shards {
			return numbers, rows, fmt.Errorf("shard %d of the opt-outs of tenant %s: %w", row.Shard, tenant, errDamaged)
		}
		rows[row.Shard] = row
		if numbers.shards[row.Shard], err = unpack(row); err != nil {
			return numbers, rows, fmt.Errorf("shard %d of the opt-outs of tenant %s: %w", row.Shard, tenant, err)
		}
	}
	return numbers, rows, nil
}

// Record writes the changes into the tenant's opt-outs. They may come in any
// order and any number of times: of the changes of one number within the time for
// which the provider repeats events, the latest counts.
func (b *Book) Record(ctx context.Context, tenant string, changes []campaign.OptChange) error {
	for try := range tries {
		if err := backoff.Wait(ctx, try); err != nil {
			return fmt.Errorf("record opt-outs: %w", err)
		}
		lost, err := b.recordOnce(ctx, tenant, changes)
		if err != nil {
			return fmt.Errorf("record opt-outs: %w", err)
		}
		if !lost {
			b.warm.Drop(tenant)
			return nil
		}
	}
	return fmt.Errorf("record opt-outs of tenant %s: %w", tenant, campaign.ErrLostRace)
}

func (b *Book) recordOnce(ctx context.Context, tenant string, changes []campaign.OptChange) (lost bool, err error) {
	numbers, rows, err := b.read(ctx, tenant)
	if err != nil {
		return false, err
	}
	var touched [Shards]bool
	for _, c := range changes {
		number, err := parse(c.Phone)
		if err != nil {
			return false, err
		}
		if numbers.shards[number%Shards].apply(number, c) {
			touched[number%Shards] = true
		}
	}
	for i := range rows {
		if !touched[i] {
			continue
		}
		row := rows[i]
		row.Packed, row.Recent = numbers.shards[i].pack(b.Now())
		swapped, err := b.Store.SwapOptOuts(ctx, tenant, row)
		if err != nil {
			return false, err
		}
		lost = lost || !swapped
	}
	return lost, nil
}

var errNoNumber = errors.New("not a number in E.164")

// parse reads a number; the error does not name it.
func parse(phone string) (uint64, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(phone, "+"), 10, 64)
	if err != nil {
		return 0, errNoNumber
	}
	return n, nil
}
