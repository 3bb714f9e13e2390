// Package feed turns what is new in the outcomes of batches into tasks of webhooks.
// It keeps nothing: whatever it is given twice makes tasks twice, and a call that
// fails anywhere is repeated as a whole.
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
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/ledger"
	"campaign-dispatch/internal/warm"
)

// Batches says who a batch belongs to. The error wraps campaign.ErrNotFound of a batch
// that has ended, and campaign.ErrDamaged where that is not known any more.
type Batches interface {
	Identity(ctx context.Context, key campaign.BatchKey) (campaign.BatchRef, error)
}

// Endpoints knows the endpoints of tenants.
type Endpoints interface {
	Endpoints(ctx context.Context, tenant string) ([]campaign.Endpoint, error)
}

// Queue takes the tasks of webhooks.
type Queue interface {
	// SendGroups queues bodies, each of the group at its position.
	SendGroups(ctx context.Context, groups []string, bodies [][]byte) error
}

// Feeder makes tasks. Which endpoints an entry is for is decided when it is fed.
type Feeder struct {
	Batches   Batches
	Endpoints Endpoints
	Queue     Queue
	Now       func() time.Time

	batches   warm.Cache[campaign.BatchKey, campaign.BatchRef]
	endpoints warm.Cache[string, []campaign.Endpoint]
}

const (
	// maxEntries is the number of entries of a task, and maxEndpoints that of tasks of a
	// message: ten messages of one call are below 256 KB.
	maxEntries, maxEndpoints = campaign.PageSize, 3
	// endpointsFor is how long a tenant's endpoints are taken for what they were.
	endpointsFor = 10 * time.Second
	// maxKnown is the number of tenants whose endpoints are kept, and maxBatches that
	// of batches.
	maxKnown, maxBatches = 1000, 10_000
)

// Handle queues at least one task for each entry and each endpoint that wants its kind.
// After an error some may be queued. A *ledger.UnfedError says that all but those of the
// batches that it names are.
func (f *Feeder) Handle(ctx context.Context, fresh []ledger.Fresh) error {
	byBatch := map[campaign.BatchKey][]ledger.Entry{}
	for _, n := range fresh {
		byBatch[n.Key] = append(byBatch[n.Key], n.Entries...)
	}
	owed := map[target][]ledger.Fresh{}
	var unfed ledger.UnfedError
	for key, entries := range byBatch {
		err := f.address(ctx, key, distinct(entries), owed)
		if errors.Is(err, campaign.ErrNotFound) {
			slog.WarnContext(ctx, "outcomes of a batch that has ended are not fed", "batch_key", key.String(), "entries", len(entries))
			continue
		}
		if errors.Is(err, campaign.ErrDamaged) {
			slog.ErrorContext(ctx, "outcomes of a damaged batch are not fed", "batch_key", key.String(), "entries", len(entries), "error", err)
			unfed.Keys = append(unfed.Keys, key)
			continue
		}
		if err != nil {
			return fmt.Errorf("feed the outcomes of batch %s: %w", key, err)
		}
	}
	if err := f.queue(ctx, owed); err != nil || len(unfed.Keys) == 0 {
		return err
	}
	return &unfed
}

// queue queues the tasks of what endpoints are owed. Messages of all tenants share the
// calls of the queue, each in the group of its tenant.
func (f *Feeder) queue(ctx context.Context, owed map[target][]ledger.Fresh) error {
	var groups []string
	var messages []campaign.NotifyMessage
	for tenant, endpoints := range byTenant(owed) {
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

// byTenant returns what is owed by tenant and endpoint.
func byTenant(owed map[target][]ledger.Fresh) map[string]map[string][]ledger.Fresh {
	tenants := map[string]map[string][]ledger.Fresh{}
	for t, fresh := range owed {
		if tenants[t.tenant] == nil {
			tenants[t.tenant] = map[string][]ledger.Fresh{}
		}
		tenants[t.tenant][t.endpointID] = fresh
	}
	return tenants
}

// messagesOf returns messages that have a task of some endpoints each. The first tasks of
// endpoints are about the same batches, and so are the second ones.
func messagesOf(tenant string, endpoints map[string][]ledger.Fresh) (messages []campaign.NotifyMessage) {
	for some := range slices.Chunk(slices.Sorted(maps.Keys(endpoints)), maxEndpoints) {
		var parts [][]campaign.NotifyTask
		for _, id := range some {
			for i, task := range tasksOf(target{tenant, id}, endpoints[id]) {
				if i == len(parts) {
					parts = append(parts, nil)
				}
				parts[i] = append(parts[i], task)
			}
		}
		for _, tasks := range parts {
			messages = append(messages, campaign.NotifyMessage{NotifyTask: tasks[0], Also: tasks[1:]})
		}
	}
	return messages
}

// target is an endpoint of a tenant.
type target struct{ tenant, endpointID string }

// tasksOf returns tasks of up to maxEntries entries each. The entries of several
// batches share a task: a message of the queue costs the same however much it holds.
func tasksOf(t target, fresh []ledger.Fresh) (tasks []campaign.NotifyTask) {
	slices.SortFunc(fresh, func(a, b ledger.Fresh) int { return bytes.Compare(a.Key[:], b.Key[:]) })
	var part []ledger.Fresh
	room := maxEntries
	end := func() {
		if len(part) > 0 {
			packed := base64.StdEncoding.EncodeToString(ledger.PackFresh(part))
			tasks = append(tasks, campaign.NotifyTask{Tenant: t.tenant, EndpointID: t.endpointID, Entries: packed})
		}
		part, room = nil, maxEntries
	}
	for _, n := range fresh {
		for len(n.Entries) > 0 {
			some := n.Entries[:min(room, len(n.Entries))]
			part = append(part, ledger.Fresh{Key: n.Key, Entries: some})
			n.Entries, room = n.Entries[len(some):], room-len(some)
			if room == 0 {
				end()
			}
		}
	}
	end()
	return tasks
}

// distinct returns entries in the order of their sequences, each once.
func distinct(entries []ledger.Entry) []ledger.Entry {
	slices.SortFunc(entries, func(a, b ledger.Entry) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return slices.CompactFunc(entries, func(a, b ledger.Entry) bool { return a.Sequence == b.Sequence })
}

// address adds a batch's entries to what each endpoint that wants them is owed.
func (f *Feeder) address(ctx context.Context, key campaign.BatchKey, entries []ledger.Entry, owed map[target][]ledger.Fresh) error {
	batch, err := f.batches.Get(key, f.Now(), warm.Terms{For: warm.Forever, Most: maxBatches}, func() (campaign.BatchRef, error) {
		return f.Batches.Identity(ctx, key)
	})
	if err != nil {
		return err
	}
	endpoints, err := f.endpoints.Get(batch.Tenant, f.Now(), warm.Terms{For: endpointsFor, Most: maxKnown}, func() ([]campaign.Endpoint, error) {
		return f.Endpoints.Endpoints(ctx, batch.Tenant)
	})
	if err != nil {
		return err
	}
	for _, e := range endpoints {
		if some := wanted(e, entries); len(some) > 0 {
			t := target{batch.Tenant, e.ID}
			owed[t] = append(owed[t], ledger.Fresh{Key: key, Entries: some})
		}
	}
	return nil
}

func wanted(e campaign.Endpoint, entries []ledger.Entry) (wanted []ledger.Entry) {
	for _, entry := range entries {
		if e.Wants(entry.Outcome.Kind()) {
			wanted = append(wanted, entry)
		}
	}
	return wanted
}
