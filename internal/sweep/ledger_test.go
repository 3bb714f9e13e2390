package sweep_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/webhook/delivery"
	"campaign-dispatch/internal/webhook/feed"
)

// feed passes new ledger entries to the feeder, like the table's stream, and reports
// whether there were any. Entries are repeated after a crash.
func (w *pipeline) feed() bool {
	w.t.Helper()
	var fresh []ledger.NewEntries
	for _, key := range w.ledgers {
		if !w.written[key] {
			continue
		}
		entries, err := w.store.Entries(w.t.Context(), key, w.fed[key], campaign.MaxChanges)
		if !errors.Is(err, campaign.ErrExpired) {
			w.must(err)
		}
		if len(entries) > 0 {
			fresh = append(fresh, ledger.NewEntries{Key: key, Entries: entries})
		}
	}
	w.attempt(func(ctx context.Context) {
		m := mortal{w}
		feeder := &feed.Feeder{Store: m, Queue: mortalQueue{m, w.deliveries}, Now: w.clock}
		if len(fresh) == 0 || feeder.Handle(ctx, fresh) != nil || w.death.dead() {
			return
		}
		for _, f := range fresh {
			w.fed[f.Key] += len(f.Entries)
		}
		clear(w.written)
	})
	return len(fresh) > 0
}

// postEntries posts the entries of a task; the endpoint accepts all.
func (m mortal) postEntries(t delivery.NotifyTask) error {
	packed, err := base64.StdEncoding.DecodeString(t.Entries)
	if err != nil {
		return err
	}
	fresh, err := ledger.UnpackNewEntries(packed)
	if err != nil {
		return err
	}
	return m.w.death.call("post", func() error {
		for _, f := range fresh {
			for _, e := range f.Entries {
				m.w.sink.post(t.EndpointID, fmt.Sprint(e.Index, " ", e.Outcome))
				m.w.sink.post(t.EndpointID+" "+f.Key.String(), strconv.Itoa(e.Sequence))
			}
		}
		return nil
	})
}

func (m mortal) Identity(ctx context.Context, key campaign.BatchKey) (campaign.BatchRef, error) {
	return call(m, "Identity", func() (campaign.BatchRef, error) { return m.w.store.Identity(ctx, key) })
}

func (m mortal) LedgerHead(ctx context.Context, key campaign.BatchKey) (ledger.Head, error) {
	return call(m, "LedgerHead", func() (ledger.Head, error) { return m.w.store.LedgerHead(ctx, key) })
}

// AppendLedger can crash at each of its writes.
func (m mortal) AppendLedger(ctx context.Context, b campaign.Batch, head ledger.Head, news []campaign.Change) (ledger.Head, error) {
	m.w.mu.Lock()
	m.w.written[b.Key] = true
	m.w.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	store := *m.w.store
	store.Set(func(tables *dynamo.Tables) {
		tables.Client = dynamodb.New(store.Tables().Client.Options(), func(o *dynamodb.Options) {
			o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
				return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("death", func(
					ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
				) (out middleware.InitializeOutput, metadata middleware.Metadata, err error) {
					err = m.w.death.call("AppendLedger", func() error {
						out, metadata, err = next.HandleInitialize(ctx, in)
						return err
					})
					if errors.Is(err, errDead) {
						cancel() // a crashed process does not retry
					}
					return out, metadata, err
				}), middleware.Before)
			})
		})
	})
	return store.AppendLedger(ctx, b, head, news)
}

// All rows of a ledger expire with their batch.
func TestLedger_Expiry(t *testing.T) {
	t.Parallel()
	w := withEndpoints(newPipeline(t))
	b := w.accept(303)
	w.live(b)
	w.checkAnswered(b)
	kinds := map[string]int{}
	for _, r := range w.rowsOf(w.store.Tables().Outcomes) {
		sk, _, _ := strings.Cut(textOf(r, "sk"), "#")
		kinds[sk]++
		if end := endOf(r); !end.Equal(b.ExpiresAt().Truncate(time.Second)) {
			t.Errorf("row %s ends at %v, its batch at %v", sk, end, b.ExpiresAt())
		}
	}
	if kinds["HEAD"] != 1 || kinds["LOG"] == 0 || len(kinds) != 2 {
		t.Errorf("rows of a ledger: %v", kinds)
	}
	w.advance(campaign.Retention)
	w.settle(15 * time.Minute)
	w.expire(w.store.Tables().Outcomes)
	if left := w.rowsOf(w.store.Tables().Outcomes); len(left) > 0 {
		t.Errorf("%d rows are left", len(left))
	}
}
