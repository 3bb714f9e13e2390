package dynamo_test

import (
	"crypto/rand"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/localstack/stackenv"
)

// later is far from now, so that the stack's own sweep does not check the test's batches.
var later = time.Date(2100, 3, 1, 12, 0, 0, 0, time.UTC)

func newStore(t *testing.T) *dynamo.CampaignStore {
	t.Helper()
	env := stackenv.Load(t)
	return dynamo.NewCampaignStore(dynamo.Tables{
		Client: dynamodb.NewFromConfig(env.AWS()), Auth: env["AUTH_TABLE"], Campaigns: env["CAMPAIGNS_TABLE"], Webhooks: env["WEBHOOKS_TABLE"],
		Now: func() time.Time { return later },
	})
}

// changesOf returns changes of the messages [first, end).
func changesOf(first, end int, outcome campaign.Outcome) []campaign.Change {
	var changes []campaign.Change
	for i := first; i < end; i++ {
		changes = append(changes, campaign.Change{Index: i, Outcome: outcome, At: later.Add(time.Duration(i) * time.Millisecond)})
	}
	return changes
}

func enter(t *testing.T, store *dynamo.CampaignStore, b campaign.Batch, batchLedger campaign.Ledger, news []campaign.Change) error {
	t.Helper()
	_, err := store.Append(t.Context(), b, batchLedger, news, nil, later)
	return err
}

func newKey() (key campaign.BatchKey) {
	_, _ = rand.Read(key[:])
	return key
}

func TestAppend(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	b := campaign.Batch{Key: newKey(), Accepted: campaign.MaxMessages}
	sent, failed := changesOf(0, 620, campaign.OutcomeSent), changesOf(620, 630, campaign.OutcomeFailed)
	for _, changes := range [][]campaign.Change{sent, failed} {
		batchLedger, err := store.Ledger(t.Context(), b, []int{0, 1, 2, 3, 4, 5, 6})
		if err != nil {
			t.Fatal(err)
		}
		if err := enter(t, store, b, batchLedger, changes); err != nil {
			t.Fatal(err)
		}
	}
	batchLedger, err := store.Ledger(t.Context(), b, []int{5, 6, 7})
	if err != nil {
		t.Fatal(err)
	}
	want := campaign.Ledger{
		Head: campaign.LedgerSummary{
			Ordinal: 4, Sequence: 630, Counts: map[campaign.Outcome]int{campaign.OutcomeSent: 620, campaign.OutcomeFailed: 10},
			Reasons: map[campaign.Reason]int{{Outcome: campaign.OutcomeFailed, Code: "failed"}: 10},
			Timeline: campaign.Timeline{Start: later, Slots: []campaign.Slot{
				{Net: map[campaign.Outcome]int{campaign.OutcomeSent: 620, campaign.OutcomeFailed: 10}},
			}},
		},
		Frames: map[int]campaign.FrameState{
			5: {Outcomes: map[int]campaign.Outcome{}},
			6: {Outcomes: map[int]campaign.Outcome{}},
			7: {Outcomes: map[int]campaign.Outcome{}},
		},
	}
	for i := 500; i < 630; i++ {
		want.Frames[i/campaign.FrameSize].Outcomes[i] = campaign.OutcomeSent
		if i >= 620 {
			want.Frames[6].Outcomes[i] = campaign.OutcomeFailed
		}
	}
	if diff := cmp.Diff(want, batchLedger, cmpopts.IgnoreFields(campaign.Ledger{}, "States")); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
	checkLog(t, store, b.Key, append(sent, failed...))
}

func checkLog(t *testing.T, store *dynamo.CampaignStore, key campaign.BatchKey, want []campaign.Change) {
	t.Helper()
	pages, err := store.Log(t.Context(), key, 1)
	if err != nil {
		t.Fatal(err)
	}
	var got []campaign.Change
	for i, page := range pages {
		if page.Ordinal != i+2 || page.First != 251+len(got) {
			t.Errorf("page %d begins with change %d", page.Ordinal, page.First)
		}
		got = append(got, page.Changes...)
	}
	if diff := cmp.Diff(want[250:], got); diff != "" {
		t.Errorf("the log after its first page (-want +got):\n%s", diff)
	}
}

func TestAppend_Conflict(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	b := campaign.Batch{Key: newKey(), Accepted: 200}
	batchLedger := func() campaign.Ledger {
		t.Helper()
		batchLedger, err := store.Ledger(t.Context(), b, []int{0, 1})
		if err != nil {
			t.Fatal(err)
		}
		return batchLedger
	}
	empty := batchLedger()
	if err := enter(t, store, b, empty, changesOf(0, 1, campaign.OutcomeSent)); err != nil {
		t.Fatal(err)
	}
	first := batchLedger()
	if err := enter(t, store, b, first, changesOf(100, 101, campaign.OutcomeSent)); err != nil {
		t.Fatal(err)
	}
	now := batchLedger()
	for name, read := range map[string]campaign.Ledger{
		"nothing": empty, "the first": first,
	} {
		err := enter(t, store, b, read, changesOf(100, 102, campaign.OutcomeFailed))
		if !errors.Is(err, campaign.ErrLostRace) {
			t.Errorf("%s: error %v, want a lost race", name, err)
		}
	}
	if diff := cmp.Diff(now, batchLedger()); diff != "" {
		t.Errorf("the refused changes left traces:\n%s", diff)
	}
}

func TestAppend_Concurrent(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	b := campaign.Batch{Key: newKey(), Accepted: 100}
	batchLedger, err := store.Ledger(t.Context(), b, []int{0})
	if err != nil {
		t.Fatal(err)
	}
	errs := make([]error, 12)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = enter(t, store, b, batchLedger, changesOf(i, i+1, campaign.OutcomeSent)) })
	}
	all.Wait()
	won := 0
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, campaign.ErrLostRace):
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d of 12 entered the same page", won)
	}
}
