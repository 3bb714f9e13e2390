package book

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/reach/lists"
)

// Prefix is the prefix of the keys of segments. The tenant follows.
const Prefix = "lists/"

// UnusedLife is how long a segment stays after the last row that named it was replaced, or after it was
// written for a row that was not. A table can be restored to a row of the last 35 days. The restore can
// take five more. A lifecycle rule cannot do this: S3 does not know which old segments are in use.
const UnusedLife = 40 * 24 * time.Hour

// renew sets the time of the segments that a change of a row will leave unused. It comes before the
// change, so that a crash in between only keeps a segment longer.
func (b *Book) renew(ctx context.Context, before, after []lists.Segment) error {
	for _, s := range before {
		if slices.ContainsFunc(after, func(kept lists.Segment) bool { return kept.ID == s.ID }) {
			continue
		}
		if err := campaign.IgnoreNotFound(b.Blobs.Renew(ctx, s.ID)); err != nil {
			return fmt.Errorf("keep segment %s for a restore: %w", s.ID, err)
		}
	}
	return nil
}

// Cleaner deletes segments that no row names.
type Cleaner struct {
	Rows interface {
		// Lists returns the lists of a tenant, deleted ones included, ordered by name.
		Lists(ctx context.Context, tenant string) ([]lists.List, error)
	}
	Objects interface {
		// List yields the objects with the prefix, ordered by key.
		List(ctx context.Context, prefix string) iter.Seq2[campaign.Blob, error]
		// Delete deletes an object. A missing one is not an error.
		Delete(ctx context.Context, key string) error
	}
	Now func() time.Time
}

// Clean deletes the segments that no row has named for UnusedLife, and returns how many. A repeated
// call continues.
func (c *Cleaner) Clean(ctx context.Context) (deleted int, err error) {
	used := map[string]map[string]bool{} // segments of the rows by tenant
	for o, err := range c.Objects.List(ctx, Prefix) {
		if err != nil {
			return deleted, fmt.Errorf("delete unused segments: %w", err)
		}
		if o.At.After(c.Now().Add(-UnusedLife)) {
			continue
		}
		tenant, _, _ := strings.Cut(strings.TrimPrefix(o.Key, Prefix), "/")
		if used[tenant] == nil {
			if used[tenant], err = c.used(ctx, tenant); err != nil {
				return deleted, fmt.Errorf("delete unused segments: %w", err)
			}
		}
		if used[tenant][o.Key] {
			continue
		}
		if err := c.Objects.Delete(ctx, o.Key); err != nil {
			return deleted, fmt.Errorf("delete unused segments: %w", err)
		}
		deleted++
	}
	slog.InfoContext(ctx, "unused segments of lists deleted", "segments", deleted)
	return deleted, nil
}

// used returns the segments that the tenant's rows name.
func (c *Cleaner) used(ctx context.Context, tenant string) (map[string]bool, error) {
	all, err := c.Rows.Lists(ctx, tenant)
	if err != nil {
		return nil, err
	}
	used := map[string]bool{}
	for _, l := range all {
		for _, s := range l.Segments {
			used[s.ID] = true
		}
	}
	return used, nil
}
