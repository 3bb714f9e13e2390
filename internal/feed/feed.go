// Package feed turns what is new in the outcomes of batches into tasks of webhooks.
// It keeps nothing: whatever it is given twice makes tasks twice, and a call that
// fails anywhere is repeated as a whole.
package feed

import (
	"cmp"
	"context"
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
// that has ended.
type Batches interface {
	Identity(ctx context.Context, key campaign.BatchKey) (campaign.BatchRef, error)
}

// Endpoints knows the endpoints of tenants.
type Endpoints interface {
	Endpoints(ctx context.Context, tenant string) ([]campaign.Endpoint, error)
}

// Queue takes the tasks of webhooks.
type Queue interface {
	SendAll(ctx context.Context, group string, bodies [][]byte) error
}

// Task asks for webhooks of some entries of a batch's log to be posted to an
// endpoint. It holds no number, text or uid.
type Task struct {
	Tenant     string `json:"tenant"`
	EndpointID string `json:"endpointId"`
	BatchKey   string `json:"batchKey"`
	Entries    []byte `json:"entries"` // see ledger.UnpackEntries
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
	// maxEntries is the number of entries of a task.
	maxEntries = campaign.PageSize
	// endpointsFor is how long a tenant's endpoints are taken for what they were.
	endpointsFor = 10 * time.Second
	// maxKnown is the number of tenants whose endpoints are kept, and maxBatches that
	// of batches.
	maxKnown, maxBatches = 1000, 10_000
)

// Handle queues at least one task for each entry and each endpoint that wants its kind.
// After an error some may be queued.
func (f *Feeder) Handle(ctx context.Context, fresh []ledger.Fresh) error {
	byBatch := map[campaign.BatchKey][]ledger.Entry{}
	for _, n := range fresh {
		byBatch[n.Key] = append(byBatch[n.Key], n.Entries...)
	}
	byTenant := map[string][]Task{}
	for key, entries := range byBatch {
		tasks, err := f.tasks(ctx, key, distinct(entries))
		if errors.Is(err, campaign.ErrNotFound) {
			slog.WarnContext(ctx, "outcomes of a batch that has ended are not fed", "batch_key", key.String(), "entries", len(entries))
			continue
		}
		if err != nil {
			return fmt.Errorf("feed the outcomes of batch %s: %w", key, err)
		}
		for _, t := range tasks {
			byTenant[t.Tenant] = append(byTenant[t.Tenant], t)
		}
	}
	for _, tenant := range slices.Sorted(maps.Keys(byTenant)) {
		if err := f.queue(ctx, tenant, byTenant[tenant]); err != nil {
			return err
		}
	}
	return nil
}

func (f *Feeder) queue(ctx context.Context, tenant string, tasks []Task) error {
	bodies, err := campaign.Bodies(tasks)
	if err != nil {
		return err
	}
	if err := f.Queue.SendAll(ctx, tenant, bodies); err != nil {
		return fmt.Errorf("queue webhooks of tenant %s: %w", tenant, err)
	}
	return nil
}

// distinct returns entries in the order of their sequences, each once.
func distinct(entries []ledger.Entry) []ledger.Entry {
	slices.SortFunc(entries, func(a, b ledger.Entry) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return slices.CompactFunc(entries, func(a, b ledger.Entry) bool { return a.Sequence == b.Sequence })
}

// tasks returns the tasks of a batch's entries.
func (f *Feeder) tasks(ctx context.Context, key campaign.BatchKey, entries []ledger.Entry) (tasks []Task, err error) {
	batch, err := f.batches.Get(key, f.Now(), warm.Terms{For: warm.Forever, Most: maxBatches}, func() (campaign.BatchRef, error) {
		return f.Batches.Identity(ctx, key)
	})
	if err != nil {
		return nil, err
	}
	endpoints, err := f.endpoints.Get(batch.Tenant, f.Now(), warm.Terms{For: endpointsFor, Most: maxKnown}, func() ([]campaign.Endpoint, error) {
		return f.Endpoints.Endpoints(ctx, batch.Tenant)
	})
	if err != nil {
		return nil, err
	}
	for _, e := range endpoints {
		for part := range slices.Chunk(wanted(e, entries), maxEntries) {
			tasks = append(tasks, Task{
				Tenant: batch.Tenant, EndpointID: e.ID, BatchKey: key.String(), Entries: ledger.PackEntries(part),
			})
		}
	}
	return tasks, nil
}

func wanted(e campaign.Endpoint, entries []ledger.Entry) (wanted []ledger.Entry) {
	for _, entry := range entries {
		if e.Wants(entry.Outcome.Kind()) {
			wanted = append(wanted, entry)
		}
	}
	return wanted
}
