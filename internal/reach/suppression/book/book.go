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
	"campaign-dispatch/internal/reach/suppression"
)

// Store reads and writes the rows of lists.
type Store interface {
	// Lists returns a tenant's lists, deleted ones included.
	Lists(ctx context.Context, tenant string) ([]suppression.List, error)
	// ListAdditions returns how often a list of the tenant was created, or created again after its deletion.
	ListAdditions(ctx context.Context, tenant string) (int, error)
	// SaveList writes the next version of a list, and an entry of the audit log, if the stored version is
	// still l's. It reports whether it did.
	SaveList(ctx context.Context, l suppression.List, e account.AuditEntry) (bool, error)
	// AddList is SaveList for a list that does not exist, or is deleted. It also requires that ListAdditions
	// is still additions.
	AddList(ctx context.Context, l suppression.List, additions int, e account.AuditEntry) (bool, error)
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
// or one of the errors of package suppression.
func (b *Book) Change(ctx context.Context, tenant, name string, c suppression.Change, e account.AuditEntry) (suppression.List, error) {
	if !suppression.ValidName(name) {
		return suppression.List{}, suppression.ErrName
	}
	if err := suppression.CheckEnd(c.Until, b.Now()); err != nil {
		return suppression.List{}, err
	}
	put := sync.OnceValues(func() ([]suppression.Segment, error) { return b.putChange(ctx, tenant, c) })
	return b.update(ctx, tenant, name, e, func(l *suppression.List) error {
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
func edit(l *suppression.List, c suppression.Change, now time.Time) error {
	was := l.Settings
	switch {
	case c.Version != nil && l.Version != *c.Version:
		return suppression.ErrChanged
	case c.Settings != nil:
		l.Settings = *c.Settings
	case c.Edit != nil:
		l.Settings = c.Edit.Of(l.Settings)
	case l.Version == 0 || l.Deleted:
		return campaign.ErrNotFound
	default:
		return nil
	}
	return l.CheckAfter(was, now)
}

// putChange writes the segments of a change.
func (b *Book) putChange(ctx context.Context, tenant string, c suppression.Change) (added []suppression.Segment, err error) {
	for _, part := range []struct {
		remove  bool
		numbers numberset.Set
	}{{false, c.Add}, {true, c.Remove}} {
		if len(part.numbers) == 0 {
			continue
		}
		s, err := b.put(ctx, tenant, suppression.Segment{Remove: part.remove, Until: c.Until}, part.numbers)
		if err != nil {
			return nil, err
		}
		added = append(added, s)
	}
	return added, nil
}

// Delete deletes a list. Its name and number stay. The error wraps campaign.ErrNotFound if it does not exist.
func (b *Book) Delete(ctx context.Context, tenant, name string, e account.AuditEntry) error {
	_, err := b.update(ctx, tenant, name, e, func(l *suppression.List) error {
		if l.Version == 0 || l.Deleted {
			return campaign.ErrNotFound
		}
		l.Deleted, l.Settings, l.Segments = true, suppression.Settings{}, nil
		return nil
	})
	return err
}

func (b *Book) put(ctx context.Context, tenant string, s suppression.Segment, numbers numberset.Set) (suppression.Segment, error) {
	s.ID, s.Numbers = Prefix+tenant+"/"+random.Token(16), len(numbers)
	if err := b.Blobs.Put(ctx, s.ID, numbers.Pack(), "application/octet-stream"); err != nil {
		return s, fmt.Errorf("write a segment: %w", err)
	}
	return s, nil
}

// update writes a list after a change, and repeats it after a concurrent one.
func (b *Book) update(
	ctx context.Context, tenant, name string, e account.AuditEntry, change func(*suppression.List) error,
) (suppression.List, error) {
	for try := range tries {
		if err := retry.Wait(ctx, try); err != nil {
			return suppression.List{}, fmt.Errorf("change a list: %w", err)
		}
		additions, err := b.Store.ListAdditions(ctx, tenant) // before the lists: a later one fails the condition
		if err != nil {
			return suppression.List{}, fmt.Errorf("change a list: %w", err)
		}
		lists, err := b.Store.Lists(ctx, tenant)
		if err != nil {
			return suppression.List{}, fmt.Errorf("change a list: %w", err)
		}
		l, before, err := b.changed(ctx, lists, tenant, name, change)
		if err != nil {
			return suppression.List{}, err
		}
		if err := b.renew(ctx, before, l.Segments); err != nil {
			return suppression.List{}, fmt.Errorf("change a list: %w", err)
		}
		saved, err := b.save(ctx, l, missing(lists, name), additions, e)
		if err != nil {
			return suppression.List{}, fmt.Errorf("change a list: %w", err)
		}
		if saved {
			l.Version++
			return l, nil
		}
	}
	return suppression.List{}, fmt.Errorf("change list %s of tenant %s: %w", name, tenant, campaign.ErrLostRace)
}

// save writes a list, which it adds if it was missing.
func (b *Book) save(ctx context.Context, l suppression.List, added bool, additions int, e account.AuditEntry) (bool, error) {
	if added {
		return b.Store.AddList(ctx, l, additions, e)
	}
	return b.Store.SaveList(ctx, l, e)
}

// missing reports whether there is no list of a name, or a deleted one.
func missing(lists []suppression.List, name string) bool {
	l, known := suppression.Find(lists, name)
	return !known || l.Deleted
}

// changed returns a list after a change, and its segments before.
func (b *Book) changed(
	ctx context.Context, lists []suppression.List, tenant, name string, change func(*suppression.List) error,
) (l suppression.List, before []suppression.Segment, err error) {
	l, known := suppression.Find(lists, name)
	if !known {
		l = suppression.List{Tenant: tenant, Name: name, Number: len(lists) + 1}
	}
	before = l.Segments
	if err := change(&l); err != nil {
		return l, nil, err
	}
	if missing(lists, name) && len(suppression.Live(lists)) >= suppression.MaxLists || l.Number > suppression.MaxNumber {
		return l, nil, suppression.ErrTooMany
	}
	l.ChangedAt = b.Now()
	if l.Segments, err = b.merge(ctx, tenant, l.Segments, b.Now()); err != nil {
		return l, nil, err
	}
	if total(lists)-sum(before)+sum(l.Segments) > suppression.MaxNumbers && sum(l.Segments) > sum(before) {
		return l, nil, suppression.ErrTooLarge
	}
	return l, before, nil
}

func total(lists []suppression.List) (numbers int) {
	for _, l := range lists {
		numbers += sum(l.Segments)
	}
	return numbers
}

func sum(segments []suppression.Segment) (numbers int) {
	for _, s := range segments {
		numbers += s.Numbers
	}
	return numbers
}
