package recount

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"campaign-dispatch/internal/base/metrics"
)

const (
	// maxLeft is the maximum number of tenants that are kept for later calls. Others have their next turn.
	maxLeft = 1000
	// maxTries is the number of calls in a row that may end where they began. Then the tenant waits for its next turn.
	maxTries = 3
	// maxCalls is the number of calls in a row that begin with the same tenant. Then the others have their turn first.
	maxCalls = 10
	// maxAside is the maximum number of tenants whose progress is kept while others have their turn: they share a row.
	maxAside = 20
)

// errOvertaken reports that another call has kept its progress since this one read it.
var errOvertaken = errors.New("another call goes on with the recount")

// queue is the work that calls have not finished. It is kept for the next call.
type queue struct {
	Left  []string    // tenants whose turn is not over; that of Begun is the first, those of Aside are the last
	Begun *progress   // what was counted of the first tenant, nil for nothing
	Calls int         // calls in a row that went on with Begun
	Tries int         // calls in a row that ended where they began
	Aside []*progress `json:",omitempty"` // what was counted of tenants that have let the others go first

	version int   // of the stored queue, 0 for none
	stored  place // of the stored queue
}

// place is how far the work has come.
type place struct {
	tenant string // "" for nothing left
	begun  bool
	after  string
	all    bool // all campaigns were counted
}

func (q *queue) place() (p place) {
	if len(q.Left) > 0 {
		p.tenant = q.Left[0]
	}
	if q.Begun != nil {
		p.begun, p.after, p.all = true, q.Begun.After, q.Begun.Counted
	}
	return p
}

// load reads the queue. Progress that is older than a turn is not used.
func (r *Recounter) load(ctx context.Context) (*queue, error) {
	data, version, err := r.Store.RecountCursor(ctx)
	if err != nil {
		return nil, fmt.Errorf("read where it goes on: %w", err)
	}
	q := &queue{}
	if len(data) > 0 {
		if err := json.Unmarshal(data, q); err != nil {
			slog.WarnContext(ctx, "recount starts again: its cursor cannot be read", "error", err)
			q = &queue{}
		}
	}
	kept := len(q.Aside)
	q.Aside = slices.DeleteFunc(q.Aside, r.isOld)
	unfinished := kept - len(q.Aside)
	switch b := q.Begun; {
	case b == nil:
	case len(q.Left) == 0, q.Left[0] != b.Tenant:
		q.Begun, q.Calls = nil, 0
	case r.isOld(b):
		q.Begun, q.Calls = nil, 0
		unfinished++
	}
	if unfinished > 0 {
		metrics.Add(ctx, metrics.RecountFailed, unfinished)
	}
	q.version, q.stored = version, q.place()
	return q, nil
}

// isOld reports whether progress is from an earlier turn of its tenant, which then was not finished.
func (r *Recounter) isOld(p *progress) bool { return r.Now().Sub(p.Began) >= every*time.Minute }

// add adds the tenants whose turn it is. The tenant that was begun stays the first one for maxCalls calls. The others start at
// a random one, so that none is always the last if there is too little time for all. Those that were set aside are the last.
func (q *queue) add(turn []string, random func(n int) int) {
	for _, tenant := range turn {
		if !slices.Contains(q.Left, tenant) {
			q.Left = append(q.Left, tenant)
		}
	}
	q.letOthers()
	var first, rest, last []string
	for i, tenant := range q.Left {
		switch {
		case i == 0 && q.Begun != nil:
			first = append(first, tenant)
		case slices.ContainsFunc(q.Aside, func(p *progress) bool { return p.Tenant == tenant }):
			last = append(last, tenant)
		default:
			rest = append(rest, tenant)
		}
	}
	if len(rest) > 1 {
		at := random(len(rest))
		rest = slices.Concat(rest[at:], rest[:at])
	}
	q.Left = slices.Concat(first, rest, last)
	q.Left = q.Left[:min(len(q.Left), maxLeft)]
}

// letOthers sets the begun tenant aside, with its progress, if others wait and it has had its calls: one with millions of
// campaigns would hold them for hours.
func (q *queue) letOthers() {
	if q.Begun == nil {
		return
	}
	if q.Calls++; q.Calls <= maxCalls || len(q.Left) == 1 || len(q.Aside) >= maxAside {
		return
	}
	q.Left = append(q.Left[1:], q.Left[0])
	q.Aside, q.Begun, q.Calls = append(q.Aside, q.Begun), nil, 0
}

// takeAside returns what was counted of a tenant that was set aside, nil for nothing.
func (q *queue) takeAside(tenant string) *progress {
	at := slices.IndexFunc(q.Aside, func(p *progress) bool { return p.Tenant == tenant })
	if at < 0 {
		return nil
	}
	p := q.Aside[at]
	q.Aside = slices.Delete(q.Aside, at, at+1)
	return p
}

// drop removes the first tenant.
func (q *queue) drop() { q.Left, q.Begun, q.Calls = q.Left[1:], nil, 0 }

// keep stores the queue for the next call. It writes nothing if there is and was nothing to do.
func (r *Recounter) keep(ctx context.Context, q *queue) error {
	now := q.place()
	if now == (place{}) && q.stored == (place{}) {
		return nil
	}
	q.count(ctx, now)
	data, err := json.Marshal(q)
	if err != nil {
		return fmt.Errorf("encode where the recount goes on: %w", err)
	}
	saved, err := r.Store.SaveRecountCursor(ctx, data, q.version)
	switch {
	case err != nil:
		return fmt.Errorf("keep where it goes on: %w", err)
	case !saved:
		return errOvertaken
	}
	q.version, q.stored = q.version+1, q.place()
	return nil
}

// count counts the calls that end at a place. It drops a tenant that too many calls could not go on with.
func (q *queue) count(ctx context.Context, now place) {
	if now != q.stored {
		q.Tries = 0
		return
	}
	if q.Tries++; q.Tries >= maxTries {
		metrics.Add(ctx, metrics.RecountFailed, 1)
		slog.WarnContext(ctx, "recount of a tenant takes too long; the next turn repeats it", "tenant", now.tenant)
		q.drop()
		q.Tries = 0
	}
}
