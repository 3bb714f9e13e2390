package dynamo_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/webhook/delivery"
)

func newBatch(tenant string, state campaign.BatchState, due, check time.Time) campaign.Batch {
	return campaign.Batch{
		BatchRef: campaign.BatchRef{ID: campaign.ID{Tenant: tenant, CampaignID: newKey().MessageID(0)}, BatchID: campaign.BatchID(rand.Text())},
		Ordinal:  1, Key: newKey(), Offsets: []int{0}, AcceptedAt: later, Due: due, NextCheck: check, State: state,
	}
}

func accept(t *testing.T, store *dynamotest.Store, b campaign.Batch) {
	t.Helper()
	err := store.Accept(t.Context(), acceptance.Command{Batch: b, Campaign: rand.Text(), Ordinal: 1, Packed: []byte{0}}, rand.Text())
	if err != nil {
		t.Fatal(err)
	}
}

func TestBatch_StateChanges(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	states := []campaign.BatchState{
		campaign.BatchPending, campaign.BatchReleasing, campaign.BatchSending, campaign.BatchSent,
		campaign.BatchCompleted, campaign.BatchCancelled,
	}
	next := later.Add(time.Hour)
	moves := map[string]struct {
		move func(b campaign.Batch) (bool, error)
		from []campaign.BatchState
		to   campaign.BatchState // "" for no change
		next time.Time
	}{
		"StartRelease": {
			func(b campaign.Batch) (bool, error) {
				return store.StartRelease(t.Context(), b.BatchRef, "", later, next)
			},
			[]campaign.BatchState{campaign.BatchPending},
			campaign.BatchReleasing, next,
		},
		"StartRelease too early": {
			func(b campaign.Batch) (bool, error) {
				return store.StartRelease(t.Context(), b.BatchRef, "", later.Add(-time.Millisecond), next)
			},
			nil, "",
			time.Time{},
		},
		"EndRelease": {
			func(b campaign.Batch) (bool, error) { return store.EndRelease(t.Context(), b, next, true) },
			[]campaign.BatchState{campaign.BatchReleasing},
			campaign.BatchSending, later, // already set by send: kept
		},
		"MarkSent": {
			func(b campaign.Batch) (bool, error) { return store.MarkSent(t.Context(), b.BatchRef, next) },
			[]campaign.BatchState{campaign.BatchReleasing, campaign.BatchSending},
			campaign.BatchSent, next,
		},
		"CompleteBatch": {
			func(b campaign.Batch) (bool, error) { return store.CompleteBatch(t.Context(), b, 0, next) },
			[]campaign.BatchState{campaign.BatchReleasing, campaign.BatchSending, campaign.BatchSent},
			campaign.BatchCompleted, next,
		},
		"PostponeCheck": {
			func(b campaign.Batch) (bool, error) { return store.PostponeCheck(t.Context(), b, next) }, states, "", next,
		},
		"PostponeCheck of another": {
			func(b campaign.Batch) (bool, error) {
				b.NextCheck = b.NextCheck.Add(time.Second)
				return store.PostponeCheck(t.Context(), b, next)
			},
			nil, "",
			time.Time{},
		},
	}
	for name, m := range moves {
		for _, state := range states {
			t.Run(fmt.Sprint(name, " of ", state), func(t *testing.T) {
				t.Parallel()
				b := newBatch("tenant-"+rand.Text(), state, later, later)
				accept(t, store, b)
				moved, err := m.move(b)
				if err != nil {
					t.Fatal(err)
				}
				want, wantMoved := b, false
				for _, from := range m.from {
					if from == state {
						wantMoved, want.NextCheck = true, m.next
						if m.to != "" {
							want.State = m.to
						}
						if m.to == campaign.BatchCompleted {
							want.ClosedAt = store.Tables().Now()
						}
					}
				}
				got, err := store.Batch(t.Context(), b.BatchRef)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got); diff != "" || moved != wantMoved {
					t.Errorf("moved %v, want %v; the batch (-want +got):\n%s", moved, wantMoved, diff)
				}
			})
		}
	}
}

func TestBatch_NotFound(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	b := newBatch("tenant-"+rand.Text(), campaign.BatchPending, later, later)
	if _, err := store.Batch(t.Context(), b.BatchRef); !errors.Is(err, campaign.ErrNotFound) {
		t.Errorf("error %v, want not found", err)
	}
	for name, move := range map[string]func() (bool, error){
		"StartRelease":  func() (bool, error) { return store.StartRelease(t.Context(), b.BatchRef, "", later, later) },
		"PostponeCheck": func() (bool, error) { return store.PostponeCheck(t.Context(), b, later) },
	} {
		if moved, err := move(); moved || err != nil {
			t.Errorf("%s: moved %v, error %v", name, moved, err)
		}
	}
}

func TestDue(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	tenant := "tenant#" + rand.Text() // tenant IDs can contain the key separator
	want := map[campaign.BatchRef]bool{}
	for i := range 40 {
		b := newBatch(tenant, campaign.BatchSending, later, later.Add(time.Duration(i-20)*time.Millisecond))
		accept(t, store, b)
		if i <= 20 {
			want[b.BatchRef] = true
		}
	}
	got := map[campaign.BatchRef]bool{}
	for shard := range dynamo.DueShards {
		for due, err := range store.Due(t.Context(), shard, later) {
			if err != nil {
				t.Fatal(err)
			}
			if due.Batch.Tenant == tenant { // the table contains other batches too
				got[due.Batch] = true
			}
		}
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("what is due (-want +got):\n%s", diff)
	}
}

// Real conflicts: all runs read a batch, then all count a failure.
func TestStore_SetFailingTime(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	b := newBatch("tenant-"+rand.Text(), campaign.BatchSending, later, later)
	if counted, err := store.SetFailingTime(t.Context(), b, campaign.FailingTime{At: later}); counted || err != nil {
		t.Fatalf("of a batch that does not exist: %v, %v", counted, err)
	}
	accept(t, store, b)
	failing := campaign.FailingTime{}
	for round := range 3 {
		at := later.Add(time.Duration(round) * 10 * time.Minute)
		failing = failing.After(at, time.Hour)
		var counted atomic.Int64
		var runs sync.WaitGroup
		for range 12 {
			runs.Go(func() {
				ok, err := store.SetFailingTime(t.Context(), b, failing)
				if err != nil {
					t.Error(err)
				}
				if ok {
					counted.Add(1)
				}
			})
		}
		runs.Wait()
		now := read(t, store, b)
		if counted.Load() != 1 || now.FailingTime != failing {
			t.Fatalf("%d runs counted; the batch fails for %+v, want %+v", counted.Load(), now.FailingTime, failing)
		}
		b = now
	}
	if want := 20 * time.Minute; b.FailingTime.For != want {
		t.Errorf("it fails for %v, want %v", b.FailingTime.For, want)
	}

	before := b
	before.FailingTime = campaign.FailingTime{} // by a run that started before the first failure
	for range 2 {
		if _, err := store.SetFailingTime(t.Context(), before, campaign.FailingTime{}); err != nil {
			t.Fatal(err)
		}
	}
	late, err := store.SetFailingTime(t.Context(), b, b.FailingTime.After(later.Add(time.Hour), time.Hour))
	if now := read(t, store, b); err != nil || late || now.FailingTime != (campaign.FailingTime{}) {
		t.Errorf("after a success: counted %v, error %v, it fails for %+v", late, err, now.FailingTime)
	}
}

func read(t *testing.T, store *dynamotest.Store, b campaign.Batch) campaign.Batch {
	t.Helper()
	now, err := store.Batch(t.Context(), b.BatchRef)
	if err != nil {
		t.Fatal(err)
	}
	return now
}

// The rows of a tenant are in many shards of one part of sweep.
func TestDue_OnePart(t *testing.T) {
	t.Parallel()
	store, tenant := newStore(t), "tenant-"+rand.Text()
	shards := map[int]int{}
	for range 40 {
		b := newBatch(tenant, campaign.BatchPending, later, later)
		accept(t, store, b)
		if started, err := store.StartRelease(t.Context(), b.BatchRef, "agent", later, later); !started || err != nil {
			t.Fatalf("started %v: %v", started, err)
		}
	}
	circuit := delivery.Circuit{Tenant: tenant, EndpointID: "e", Since: later, Next: later}
	if saved, err := store.SaveCircuit(t.Context(), circuit); !saved || err != nil {
		t.Fatalf("saved %v: %v", saved, err)
	}
	parts, found := map[int]bool{}, 0
	for shard := range dynamo.DueShards {
		for due, err := range store.Due(t.Context(), shard, later) {
			if err != nil {
				t.Fatal(err)
			}
			if due.Batch.Tenant != tenant && (due.Delivery == nil || due.Delivery.Tenant != tenant) {
				continue
			}
			found++
			shards[shard]++
			parts[shard%dynamo.DueSections] = true
		}
	}
	if found != 41 {
		t.Errorf("%d rows are due, want 41", found)
	}
	if len(parts) != 1 || len(shards) < 8 {
		t.Errorf("the rows stand in %d parts and %d shards, want one part and about 16 shards", len(parts), len(shards))
	}
}

func TestStartRelease_RecordsTheAgent(t *testing.T) {
	t.Parallel()
	store, b := newStore(t), newBatch("tenant-"+rand.Text(), campaign.BatchPending, later, later)
	accept(t, store, b)
	for i, agent := range []string{"first", "second"} {
		if _, err := store.StartRelease(t.Context(), b.BatchRef, agent, later, later); err != nil {
			t.Fatal(err)
		}
		if got, err := store.Batch(t.Context(), b.BatchRef); got.AgentID != "first" || err != nil {
			t.Errorf("release %d: agent %q, %v", i, got.AgentID, err)
		}
	}
}

// A tenant's batches are listed while they wait.
func TestWaits(t *testing.T) {
	t.Parallel()
	s, tenant := newStore(t), "tenant#"+rand.Text()
	waiting := func(want ...campaign.BatchRef) {
		t.Helper()
		var got []campaign.BatchRef
		for ref, err := range s.Waits(t.Context(), tenant) {
			must(t, err)
			got = append(got, ref)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the batches that wait (-want +got):\n%s", diff)
		}
	}
	postpone := func(b campaign.Batch) {
		t.Helper()
		if changed, err := s.PostponeCheck(t.Context(), b, later); !changed || err != nil {
			t.Fatalf("postponed %t, %v", changed, err)
		}
	}
	paused, closed, foreign := newBatch(tenant, campaign.BatchSending, later, later), newBatch(tenant, campaign.BatchReleasing, later, later), newBatch(rand.Text(), campaign.BatchSending, later, later)
	for _, b := range []campaign.Batch{paused, closed, foreign} {
		accept(t, s, b)
	}
	waiting()
	paused.Waits.Paused, foreign.Waits.Paused, closed.Waits.Zones = true, true, window.Set(0).With(window.Manaus)
	postpone(paused)
	postpone(foreign)
	waiting(paused.BatchRef)
	if ended, err := s.EndRelease(t.Context(), closed, later, false); !ended || err != nil {
		t.Fatalf("released %t, %v", ended, err)
	}
	paused.Waits.Paused = false
	postpone(paused)
	waiting(closed.BatchRef)
	if completed, err := s.CompleteBatch(t.Context(), closed, 0, later); !completed || err != nil {
		t.Fatalf("completed %t, %v", completed, err)
	}
	must(t, s.CloseBatch(t.Context(), closed, 0))
	waiting()
}

// The release before reads and writes one attribute for a pause and for parts of a file: which it is, the state says.
func TestWaits_ReleaseBefore(t *testing.T) {
	t.Parallel()
	s, zones := newStore(t), window.Set(0).With(window.Manaus)
	for state, want := range map[campaign.BatchState]campaign.Waits{
		campaign.BatchReleasing: {Paused: true, Zones: zones},
		campaign.BatchSending:   {Paused: true, Zones: zones},
		campaign.BatchCompleted: {Parts: true, Zones: zones},
	} {
		b := newBatch("tenant-"+rand.Text(), state, later, later)
		accept(t, s, b)
		b.Waits = want
		if changed, err := s.PostponeCheck(t.Context(), b, later); !changed || err != nil {
			t.Fatalf("postponed %t, %v", changed, err)
		}
		if got := read(t, s, b).Waits; got != want {
			t.Errorf("a %s batch waits for %+v, want %+v", state, got, want)
		}
		row := rawBatch(t, s, b)
		if waiting, ok := row["waiting"].(*types.AttributeValueMemberBOOL); !ok || !waiting.Value || row["listOf"] == nil || row["waitingZones"] == nil {
			t.Errorf("the release before reads %v, %v, %v", row["waiting"], row["waitingZones"], row["listOf"])
		}
	}
}

// rawBatch returns the row of a batch.
func rawBatch(t *testing.T, s *dynamotest.Store, b campaign.Batch) dynamo.Item {
	t.Helper()
	table := s.Tables().Campaigns
	out, err := s.Tables().Client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table, ConsistentRead: aws.Bool(true), Key: dynamo.Item{
		"pk": &types.AttributeValueMemberS{Value: "C#" + b.Tenant + "#" + b.CampaignID},
		"sk": &types.AttributeValueMemberS{Value: "BATCH#" + b.BatchID},
	}})
	must(t, err)
	return out.Item
}

// What never opens is stored with what waits, and removed with it.
func TestBatch_NeverOpen(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	b := newBatch("tenant-"+rand.Text(), campaign.BatchReleasing, later, later)
	accept(t, s, b)
	read := func(check time.Time, never campaign.NeverOpen, waiting window.Set) {
		t.Helper()
		got, err := s.Batch(t.Context(), b.BatchRef)
		must(t, err)
		if got.NeverOpen != never || got.Waits.Zones != waiting || !got.NextCheck.Equal(check) {
			t.Errorf("%+v of %v, checked at %v; want %+v of %v at %v", got.NeverOpen, got.Waits.Zones, got.NextCheck, never, waiting, check)
		}
		b = got
	}
	zones := window.Set(0).With(window.Manaus)
	b.Waits.Zones, b.NeverOpen = zones.With(window.Belem), campaign.NeverOpen{Zones: zones, Since: later}
	if ended, err := s.EndRelease(t.Context(), b, later.Add(time.Hour), false); !ended || err != nil {
		t.Fatalf("released %t, %v", ended, err)
	}
	read(later.Add(time.Hour), campaign.NeverOpen{Zones: zones, Since: later}, zones.With(window.Belem))
	b.Waits.Zones = 0 // its messages end
	if changed, err := s.PostponeCheck(t.Context(), b, later.Add(2*time.Hour)); !changed || err != nil {
		t.Fatalf("postponed %t, %v", changed, err)
	}
	read(later.Add(2*time.Hour), campaign.NeverOpen{Zones: zones, Since: later}, 0)
	b.NeverOpen = campaign.NeverOpen{}
	if changed, err := s.PostponeCheck(t.Context(), b, later.Add(3*time.Hour)); !changed || err != nil {
		t.Fatalf("postponed %t, %v", changed, err)
	}
	read(later.Add(3*time.Hour), campaign.NeverOpen{}, 0)
}

// A campaign is listed once, however many of its batches wait.
func TestWaitingCampaigns(t *testing.T) {
	t.Parallel()
	s, tenant := newStore(t), "tenant#"+rand.Text()
	var want []campaign.ID
	for range 3 {
		first := newBatch(tenant, campaign.BatchSending, later, later)
		first.Waits.Paused = true
		second := first
		second.BatchID, second.Ordinal, second.Key = campaign.BatchID(rand.Text()), 2, newKey()
		accept(t, s, first)
		c, err := s.Dispatched(t.Context(), first.ID)
		must(t, err)
		must(t, s.Accept(t.Context(), acceptance.Command{Batch: second, Campaign: c.Name, Ordinal: 2, CreatedAt: c.CreatedAt, Packed: []byte{0}}, rand.Text()))
		for _, b := range []campaign.Batch{first, second} {
			if changed, err := s.PostponeCheck(t.Context(), b, later.Add(time.Hour)); !changed || err != nil {
				t.Fatalf("postponed %t, %v", changed, err)
			}
		}
		want = append(want, first.ID)
	}
	other := newBatch(tenant, campaign.BatchSending, later, later)
	accept(t, s, other)
	slices.SortFunc(want, func(a, b campaign.ID) int { return strings.Compare(a.CampaignID, b.CampaignID) })
	for limit, listed := range map[int][]campaign.ID{2: want[:2], 3: want, 10: want} {
		got, err := s.WaitingCampaigns(t.Context(), tenant, limit)
		must(t, err)
		if diff := cmp.Diff(listed, got); diff != "" {
			t.Errorf("up to %d (-want +got):\n%s", limit, diff)
		}
	}
}

// However many campaigns wait, those with messages that never go are found.
func TestWaitingCampaigns_NeverFirst(t *testing.T) {
	t.Parallel()
	s, tenant := newStore(t), "tenant#"+rand.Text()
	ids := []string{"a", "b", "c"}
	for _, id := range ids {
		b := newBatch(tenant, campaign.BatchSending, later, later)
		b.CampaignID, b.Waits.Zones = id, window.Set(0).With(window.Manaus)
		accept(t, s, b)
		if id == "c" {
			b.NeverOpen = campaign.NeverOpen{Zones: b.Waits.Zones, Since: later}
		}
		if changed, err := s.PostponeCheck(t.Context(), b, later.Add(time.Hour)); !changed || err != nil {
			t.Fatalf("postponed %t, %v", changed, err)
		}
	}
	for limit, want := range map[int]string{1: "c", 2: "c a", 5: "c a b"} {
		got, err := s.WaitingCampaigns(t.Context(), tenant, limit)
		must(t, err)
		listed := make([]string, len(got))
		for i, id := range got {
			listed[i] = id.CampaignID
		}
		if strings.Join(listed, " ") != want {
			t.Errorf("up to %d: %v, want %s", limit, listed, want)
		}
	}
	if waits := slices.Collect(maps.Keys(maps.Collect(s.Waits(t.Context(), tenant)))); len(waits) != len(ids) {
		t.Errorf("%d batches wait, want %d", len(waits), len(ids))
	}
}
