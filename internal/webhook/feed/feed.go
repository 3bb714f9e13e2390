// Package feed turns new log entries into webhook tasks. It has no state: repeated input
// creates repeated tasks, and a failed call is repeated as a whole.
package feed

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/base/cache"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/webhook/delivery"
)

// Store reads the batches of log entries and the endpoints of tenants.
type Store interface {
	// Identity returns which batch has a key. The error wraps campaign.ErrNotFound if there is none, or campaign.ErrDamaged.
	Identity(ctx context.Context, key campaign.BatchKey) (campaign.BatchRef, error)
	// Endpoints returns the endpoints of a tenant, disabled ones included.
	Endpoints(ctx context.Context, tenant string) ([]delivery.Endpoint, error)
}

// Queue is the notify queue.
type Queue interface {
	// SendGroups queues bodies; groups[i] is the message group of bodies[i].
	SendGroups(ctx context.Context, groups []string, bodies [][]byte) error
}

// Feeder creates webhook tasks. It selects the endpoints with their current settings.
type Feeder struct {
	Store Store
	Queue Queue
	Now   func() time.Time

	batches   cache.Cache[campaign.BatchKey, campaign.BatchRef]
	endpoints cache.Cache[string, []delivery.Endpoint]
}

const (
	// maxEntries is the maximum number of entries per task, maxEndpoints of tasks per
	// message. Ten messages of one call stay below 256 KB.
	maxEntries, maxEndpoints = ledger.MaxPage, 3
	// maxBatches is the size of the cache of batches, more than a day of 100 million messages. It
	// takes about 40 MB.
	maxBatches = 100_000
	// maxReads is the number of concurrent reads. A partition of the table writes up to
	// 1,000 records per second, processed by two calls, and each can belong to another
	// batch.
	maxReads = 32
)

// Handle queues at least one task for each entry and each endpoint that wants its kind.
// After an error, some tasks may be queued. A *ledger.UnqueuedError means that all tasks are
// queued except those of the named batches.
func (f *Feeder) Handle(ctx context.Context, fresh []ledger.NewEntries) error {
	byBatch := map[campaign.BatchKey][]ledger.Entry{}
	for _, n := range fresh {
		byBatch[n.Key] = append(byBatch[n.Key], n.Entries...)
	}
	batches, err := f.identify(ctx, slices.Collect(maps.Keys(byBatch)))
	if err != nil {
		return err
	}
	endpoints, err := f.endpointsOf(ctx, batches)
	if err != nil {
		return err
	}
	pending := pendingEntries{}
	var unfed ledger.UnqueuedError
	for key, entries := range byBatch {
		switch batch := batches[key]; {
		case batch.damaged != nil:
			slog.ErrorContext(ctx, "webhooks skipped: batch damaged", "batch_key", key.String(), "entries", len(entries), "error", batch.damaged)
			unfed.Keys = append(unfed.Keys, key)
		case batch.Tenant == "":
			slog.WarnContext(ctx, "webhooks skipped: batch expired", "batch_key", key.String(), "entries", len(entries))
		default:
			pending.add(batch.Tenant, endpoints[batch.Tenant], ledger.NewEntries{Key: key, Entries: distinct(entries)})
		}
	}
	if err := f.queue(ctx, pending); err != nil || len(unfed.Keys) == 0 {
		return err
	}
	return &unfed
}

// identity is the tenant and campaign of a batch, or the error of a corrupt row. That of an expired batch is zero.
type identity struct {
	campaign.BatchRef
	damaged error
}

// identify returns the identities of batches.
func (f *Feeder) identify(ctx context.Context, keys []campaign.BatchKey) (map[campaign.BatchKey]identity, error) {
	return readAll(ctx, keys, func(ctx context.Context, key campaign.BatchKey) (id identity, err error) {
		forever := cache.Options{TTL: cache.Forever, MaxEntries: maxBatches}
		id.BatchRef, err = f.batches.Get(key, f.Now(), forever, func() (campaign.BatchRef, error) {
			return f.Store.Identity(ctx, key)
		})
		switch {
		case errors.Is(err, campaign.ErrNotFound):
			return identity{}, nil
		case errors.Is(err, campaign.ErrDamaged):
			return identity{damaged: err}, nil
		case err != nil:
			return id, fmt.Errorf("queue webhooks of batch %s: %w", key, err)
		}
		return id, nil
	})
}

func (f *Feeder) endpointsOf(ctx context.Context, batches map[campaign.BatchKey]identity) (map[string][]delivery.Endpoint, error) {
	tenants := map[string]bool{}
	for _, b := range batches {
		if b.Tenant != "" {
			tenants[b.Tenant] = true
		}
	}
	return readAll(ctx, slices.Collect(maps.Keys(tenants)), func(ctx context.Context, tenant string) (endpoints []delivery.Endpoint, err error) {
		options := cache.Options{TTL: delivery.EndpointTTL, MaxEntries: delivery.CachedTenants}
		endpoints, err = f.endpoints.Get(tenant, f.Now(), options, func() ([]delivery.Endpoint, error) {
			return f.Store.Endpoints(ctx, tenant)
		})
		if err != nil {
			return nil, fmt.Errorf("queue webhooks of tenant %s: %w", tenant, err)
		}
		return endpoints, nil
	})
}

// readAll reads the keys, at most maxReads concurrently. It stops at the first error.
func readAll[K comparable, V any](ctx context.Context, keys []K, read func(context.Context, K) (V, error)) (map[K]V, error) {
	var mu sync.Mutex
	values := make(map[K]V, len(keys))
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(maxReads)
	for _, key := range keys {
		reads.Go(func() error {
			value, err := read(ctx, key)
			mu.Lock()
			defer mu.Unlock()
			values[key] = value
			return err
		})
	}
	return values, reads.Wait()
}

// pendingEntries are the entries to post, by tenant and endpoint ID.
type pendingEntries map[string]map[string][]ledger.NewEntries

// add adds entries of a tenant's batch for each endpoint that wants them.
func (p pendingEntries) add(tenant string, endpoints []delivery.Endpoint, fresh ledger.NewEntries) {
	for _, e := range endpoints {
		some := subscribed(e, fresh.Entries)
		if len(some) == 0 {
			continue
		}
		if p[tenant] == nil {
			p[tenant] = map[string][]ledger.NewEntries{}
		}
		p[tenant][e.ID] = append(p[tenant][e.ID], ledger.NewEntries{Key: fresh.Key, Entries: some})
	}
}

// queue queues the tasks. Messages of all tenants share the SQS calls, each in its tenant's message group.
func (f *Feeder) queue(ctx context.Context, pending pendingEntries) error {
	var groups []string
	var messages []delivery.NotifyMessage
	for tenant, endpoints := range pending {
		for _, m := range messagesOf(tenant, endpoints) {
			groups, messages = append(groups, tenant), append(messages, m)
		}
	}
	bodies, err := campaign.Bodies(messages)
	if err != nil || len(bodies) == 0 {
		return err
	}
	if err := f.Queue.SendGroups(ctx, groups, bodies); err != nil {
		return fmt.Errorf("queue webhooks: %w", err)
	}
	return nil
}

// messagesOf returns messages with tasks for up to maxEndpoints endpoints each. The tasks
// of one message are about the same batches.
func messagesOf(tenant string, endpoints map[string][]ledger.NewEntries) (messages []delivery.NotifyMessage) {
	for some := range slices.Chunk(slices.Sorted(maps.Keys(endpoints)), maxEndpoints) {
		var parts [][]delivery.NotifyTask
		for _, id := range some {
			for i, task := range tasksOf(tenant, id, endpoints[id]) {
				if i == len(parts) {
					parts = append(parts, nil)
				}
				parts[i] = append(parts[i], task)
			}
		}
		for _, tasks := range parts {
			messages = append(messages, delivery.NotifyMessage{NotifyTask: tasks[0], Also: tasks[1:]})
		}
	}
	return messages
}

// tasksOf returns tasks of up to maxEntries entries each. A task can contain entries of
// several batches, because SQS bills per message.
func tasksOf(tenant, endpointID string, fresh []ledger.NewEntries) (tasks []delivery.NotifyTask) {
	slices.SortFunc(fresh, func(a, b ledger.NewEntries) int { return bytes.Compare(a.Key[:], b.Key[:]) })
	var part []ledger.NewEntries
	room := maxEntries
	end := func() {
		if len(part) > 0 {
			packed := base64.StdEncoding.EncodeToString(ledger.PackNewEntries(part))
			tasks = append(tasks, delivery.NotifyTask{Tenant: tenant, EndpointID: endpointID, Entries: packed})
		}
		part, room = nil, maxEntries
	}
	for _, n := range fresh {
		for len(n.Entries) > 0 {
			some := n.Entries[:min(room, len(n.Entries))]
			part = append(part, ledger.NewEntries{Key: n.Key, Entries: some})
			n.Entries, room = n.Entries[len(some):], room-len(some)
			if room == 0 {
				end()
			}
		}
	}
	end()
	return tasks
}

// distinct returns the entries ordered by sequence, without duplicates.
func distinct(entries []ledger.Entry) []ledger.Entry {
	slices.SortFunc(entries, func(a, b ledger.Entry) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return slices.CompactFunc(entries, func(a, b ledger.Entry) bool { return a.Sequence == b.Sequence })
}

func subscribed(e delivery.Endpoint, entries []ledger.Entry) (subscribed []ledger.Entry) {
	for _, entry := range entries {
		if e.Subscribes(delivery.KindOf(entry.Outcome)) {
			subscribed = append(subscribed, entry)
		}
	}
	return subscribed
}
