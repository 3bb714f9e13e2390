// Package book changes and searches lists of numbers that get no messages.
package book

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/reach/lists"
)

// Store reads and writes the rows of lists.
type Store interface {
	// Lists returns a tenant's lists, deleted ones included.
	Lists(ctx context.Context, tenant string) ([]lists.List, error)
	// ListAdditions returns how often a list of the tenant was created, or created again after its deletion.
	ListAdditions(ctx context.Context, tenant string) (int, error)
	// SaveList writes the next version of a list, and an entry of the audit log, if the stored version is
	// still l's. It reports whether it did.
	SaveList(ctx context.Context, l lists.List, e account.AuditEntry) (bool, error)
	// AddList is SaveList for a list that does not exist, or is deleted. It also requires that ListAdditions
	// is still additions.
	AddList(ctx context.Context, l lists.List, additions int, e account.AuditEntry) (bool, error)
}

// Blobs stores segments.
type Blobs interface {
	// Get returns an object. The error wraps campaign.ErrNotFound if there is none.
	Get(ctx context.Context, key string) ([]byte, error)
	// Put writes an object, or replaces it.
	Put(ctx context.Context, key string, body []byte, contentType string) error
	// Renew sets the time of an object to now. The error wraps campaign.ErrNotFound if there is none.
	Renew(ctx context.Context, key string) error
}

// Book changes lists.
type Book struct {
	Store Store
	Blobs Blobs
	Now   func() time.Time
}

const tries = 10 // maximum number of attempts to write a list

// Change changes a list, and creates it if it does not exist. The error wraps campaign.ErrNotFound if it must exist,
// or one of the errors of package lists.
func (b *Book) Change(ctx context.Context, tenant, name string, c lists.Change, e account.AuditEntry) (lists.List, error) {
	if !lists.ValidName(name) {
		return lists.List{}, lists.ErrName
	}
	if err := lists.CheckEnd(c.Until, b.Now()); err != nil {
		return lists.List{}, err
	}
	put := sync.OnceValues(func() ([]lists.Segment, error) { return b.putChange(ctx, tenant, c) })
	return b.update(ctx, tenant, name, e, func(l *lists.List) error {
		if err := edit(l, c, b.Now()); err != nil {
			return err
		}
		added, err := put()
		if err != nil {
			return err
		}
		if c.Replace {
			l.Segments = nil
		}
		l.Deleted, l.Segments = false, slices.Concat(l.Segments, added)
		return nil
	})
}

// edit changes the settings of a list, if the change suits the list.
func edit(l *lists.List, c lists.Change, now time.Time) error {
	was := l.Settings
	switch {
	case c.Version != nil && l.Version != *c.Version:
		return lists.ErrChanged
	case c.Settings != nil:
		l.Settings = *c.Settings
	case c.Edit != nil:
		l.Settings = c.Edit.Apply(l.Settings)
	case l.Version == 0 || l.Deleted:
		return campaign.ErrNotFound
	default:
		return nil
	}
	return l.CheckAfter(was, now)
}

// putChange writes the segments of a change.
func (b *Book) putChange(ctx context.Context, tenant string, c lists.Change) (added []lists.Segment, err error) {
	for _, part := range []struct {
		remove  bool
		numbers numberset.Set
	}{{false, c.Add}, {true, c.Remove}} {
		if len(part.numbers) == 0 {
			continue
		}
		s, err := b.put(ctx, tenant, lists.Segment{Remove: part.remove, Until: c.Until}, part.numbers)
		if err != nil {
			return nil, err
		}
		added = append(added, s)
	}
	return added, nil
}

// Delete deletes a list. Its name and number stay. The error wraps campaign.ErrNotFound if it does not exist.
func (b *Book) Delete(ctx context.Context, tenant, name string, e account.AuditEntry) error {
	_, err := b.update(ctx, tenant, name, e, func(l *lists.List) error {
		if l.Version == 0 || l.Deleted {
			return campaign.ErrNotFound
		}
		l.Deleted, l.Settings, l.Segments = true, lists.Settings{}, nil
		return nil
	})
	return err
}

func (b *Book) put(ctx context.Context, tenant string, s lists.Segment, numbers numberset.Set) (lists.Segment, error) {
	s.ID, s.Numbers = Prefix+tenant+"/"+random.Token(16), len(numbers)
	if err := b.Blobs.Put(ctx, s.ID, numbers.Pack(), "application/octet-stream"); err != nil {
		return s, fmt.Errorf("write a segment: %w", err)
	}
	return s, nil
}

// update writes a list after a change, and repeats it after a concurrent one.
func (b *Book) update(
	ctx context.Context, tenant, name string, e account.AuditEntry, change func(*lists.List) error,
) (lists.List, error) {
	for try := range tries {
		if err := retry.Wait(ctx, try); err != nil {
			return lists.List{}, fmt.Errorf("change a list: %w", err)
		}
		additions, err := b.Store.ListAdditions(ctx, tenant) // before the lists: a later one fails the condition
		if err != nil {
			return lists.List{}, fmt.Errorf("change a list: %w", err)
		}
		all, err := b.Store.Lists(ctx, tenant)
		if err != nil {
			return lists.List{}, fmt.Errorf("change a list: %w", err)
		}
		l, before, err := b.changed(ctx, all, tenant, name, change)
		if err != nil {
			return lists.List{}, err
		}
		if err := b.renew(ctx, before, l.Segments); err != nil {
			return lists.List{}, fmt.Errorf("change a list: %w", err)
		}
		saved, err := b.save(ctx, l, missing(all, name), additions, e)
		if err != nil {
			return lists.List{}, fmt.Errorf("change a list: %w", err)
		}
		if saved {
			l.Version++
			return l, nil
		}
	}
	return lists.List{}, fmt.Errorf("change list %s of tenant %s: %w", name, tenant, campaign.ErrLostRace)
}

// save writes a list, which it adds if it was missing.
func (b *Book) save(ctx context.Context, l lists.List, added bool, additions int, e account.AuditEntry) (bool, error) {
	if added {
		return b.Store.AddList(ctx, l, additions, e)
	}
	return b.Store.SaveList(ctx, l, e)
}

// missing reports whether there is no list of a name, or a deleted one.
func missing(all []lists.List, name string) bool {
	l, known := lists.Find(all, name)
	return !known || l.Deleted
}

// changed returns a list after a change, and its segments before.
func (b *Book) changed(
	ctx context.Context, all []lists.List, tenant, name string, change func(*lists.List) error,
) (l lists.List, before []lists.Segment, err error) {
	l, known := lists.Find(all, name)
	if !known {
		l = lists.List{Tenant: tenant, Name: name, Number: len(all) + 1}
	}
	before = l.Segments
	if err := change(&l); err != nil {
		return l, nil, err
	}
	if missing(all, name) && len(lists.Live(all)) >= lists.MaxLists || l.Number > lists.MaxNumber {
		return l, nil, lists.ErrTooMany
	}
	l.ChangedAt = b.Now()
	if l.Segments, err = b.merge(ctx, tenant, l.Segments, b.Now()); err != nil {
		return l, nil, err
	}
	if total(all)-sum(before)+sum(l.Segments) > lists.MaxNumbers && sum(l.Segments) > sum(before) {
		return l, nil, lists.ErrTooLarge
	}
	return l, before, nil
}

func total(all []lists.List) (numbers int) {
	for _, l := range all {
		numbers += sum(l.Segments)
	}
	return numbers
}

func sum(segments []lists.Segment) (numbers int) {
	for _, s := range segments {
		numbers += s.Numbers
	}
	return numbers
}
