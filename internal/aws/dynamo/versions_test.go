package dynamo_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/outcome"
)

// nowhere discards a recorder's output.
type nowhere struct{}

func (nowhere) SendAll(context.Context, string, [][]byte) error   { return nil }
func (nowhere) Put(context.Context, string, []byte, string) error { return nil }

func recorderOf(s *dynamo.CampaignStore) *outcome.Recorder {
	return &outcome.Recorder{
		Store: s, Webhooks: s, Blobs: nowhere{}, Notify: nowhere{}, MaxAppend: dynamo.MaxAppend, SweepAfter: time.Hour, Now: s.Now,
	}
}

// deployments returns two stores of the same tables, of the first and the second
// deployment. They differ in whether new batches have ledgers.
func deployments(t *testing.T) map[bool]*dynamo.CampaignStore {
	t.Helper()
	second := newLedgers(t)
	first := *second
	first.Split = false
	return map[bool]*dynamo.CampaignStore{false: &first, true: second}
}

// acceptRead accepts a batch of the given size and returns it as read.
func acceptRead(t *testing.T, s *dynamo.CampaignStore, messages int) campaign.Batch {
	t.Helper()
	b := newBatch(randomID(), campaign.BatchSending, later, later.Add(1000*time.Hour))
	b.Accepted = messages
	accept(t, s, b)
	b, err := s.Batch(t.Context(), b.BatchRef)
	must(t, err)
	return b
}

// rowsOf returns the rows of a partition by sort key.
func rowsOf(t *testing.T, s *dynamo.CampaignStore, table, pk string) map[string]dynamo.Item {
	t.Helper()
	out, err := s.Client.Query(t.Context(), &dynamodb.QueryInput{
		TableName: &table, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("pk = :pk"),
		ExpressionAttributeValues: dynamo.Item{":pk": &types.AttributeValueMemberS{Value: pk}},
	})
	must(t, err)
	rows := map[string]dynamo.Item{}
	for _, row := range out.Items {
		sk, _, _ := strings.Cut(row["sk"].(*types.AttributeValueMemberS).Value, "#")
		rows[sk] = row
	}
	return rows
}

func attributes(row dynamo.Item) []string { return slices.Sorted(maps.Keys(row)) }

// TestVersions lets each of two deployments accept a batch and record outcomes of both in
// turn.
func TestVersions(t *testing.T) {
	t.Parallel()
	for _, inLedger := range []bool{false, true} {
		t.Run(fmt.Sprint("accepted with a ledger ", inLedger), func(t *testing.T) {
			t.Parallel()
			stores := deployments(t)
			b := acceptRead(t, stores[inLedger], 300)
			var want []campaign.Change
			for i := range 6 {
				kind := []campaign.Outcome{campaign.OutcomeSent, campaign.OutcomeDelivered, campaign.OutcomeRead}[i/2]
				part := changesOf(i%2*150, i%2*150+150, kind)
				must(t, recorderOf(stores[i%2 == 0]).Record(t.Context(), b, part))
				want = append(want, part...)
			}
			for _, s := range stores {
				wantOutcomes(t, s, b, want)
			}
			old, split := rowsOf(t, stores[true], stores[true].Campaigns, "B#"+b.Key.String()), rowsOf(t, stores[true], stores[true].Outcomes, b.Key.String())
			if inLedger && (len(old) != 1 || split["HEAD"] == nil || split["LOG"] == nil) || !inLedger && (old["LOG"] == nil || len(split) != 0) {
				t.Errorf("rows of the batch %v in the Campaigns table, %v in the Outcomes table", slices.Collect(maps.Keys(old)), slices.Collect(maps.Keys(split)))
			}
		})
	}
}

// wantOutcomes checks the log of a fully read batch, for any page size, and all other reads
// of its outcomes.
func wantOutcomes(t *testing.T, s *dynamo.CampaignStore, b campaign.Batch, want []campaign.Change) {
	t.Helper()
	ctx := t.Context()
	for _, page := range []int{campaign.MaxChanges, 77} {
		var got []campaign.Change
		for {
			more, err := s.Changes(ctx, b, len(got), page)
			must(t, err)
			if got = append(got, more...); len(more) < page {
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("log in pages of %d (-want +got):\n%s", page, diff)
		}
	}
	latest, err := s.Latest(ctx, b)
	must(t, err)
	for i, c := range latest {
		if c.Outcome != campaign.OutcomeRead || c.Index != i {
			t.Errorf("the last change of message %d is %+v", i, c)
		}
	}
	batchLedger, err := s.Ledger(ctx, b, []int{0, 2})
	must(t, err)
	if len(batchLedger.Frames) != 2 || batchLedger.Outcome(99) != campaign.OutcomeRead || batchLedger.Outcome(299) != campaign.OutcomeRead {
		t.Errorf("ledger: %+v", batchLedger)
	}
	c, err := s.Campaign(ctx, b.ID)
	must(t, err)
	overview, err := s.Overview(ctx, b.ID)
	must(t, err)
	progress, found, err := s.BatchProgress(ctx, b.ID, b.BatchID)
	must(t, err)
	for name, head := range map[string]campaign.LedgerSummary{"campaign": c.Batches[0].Head, "overview": overview.Batches[0].Head, "batch": progress.Head} {
		ignore := cmpopts.IgnoreMapEntries(func(_ any, n int) bool { return n == 0 })
		if diff := cmp.Diff(batchLedger.Head, head, ignore, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(campaign.LedgerSummary{}, "Ordinal", "Sequence")); diff != "" || !found {
			t.Errorf("head of the %s (-ledger +got):\n%s", name, diff)
		}
	}
	if batchLedger.Head.Counts[campaign.OutcomeRead] != b.Accepted || batchLedger.Head.Sequence != len(want) || progress.Head.Sequence != len(want) {
		t.Errorf("heads: %+v, %+v", batchLedger.Head, progress.Head)
	}
}

// The first of two deployments writes only what the former version can read.
func TestVersions_FirstDeployment(t *testing.T) {
	t.Parallel()
	s := deployments(t)[false]
	b := acceptRead(t, s, 3)
	head := []string{"accepted", "batchId", "campaignId", "expiresAt", "ordinal", "pk", "sk", "tenant"}
	rows := rowsOf(t, s, s.Campaigns, "B#"+b.Key.String())
	if diff := cmp.Diff(head, attributes(rows["HEAD"])); diff != "" || len(rows) != 1 {
		t.Errorf("HEAD of an accepted batch, of %d rows (-want +got):\n%s", len(rows), diff)
	}
	must(t, recorderOf(s).Record(t.Context(), b, changesOf(0, 2, campaign.OutcomeSent)))
	rows = rowsOf(t, s, s.Campaigns, "B#"+b.Key.String())
	if diff := cmp.Diff(slices.Sorted(slices.Values(append(head, "sequence", "states", "tally"))), attributes(rows["HEAD"])); diff != "" {
		t.Errorf("HEAD of a batch with outcomes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"changes", "expiresAt", "first", "pk", "sk"}, attributes(rows["LOG"])); diff != "" {
		t.Errorf("LOG (-want +got):\n%s", diff)
	}
	row := rowsOf(t, s, s.Campaigns, "C#"+b.Tenant+"#"+b.CampaignID)["BATCH"]
	if row["ledger"] != nil {
		t.Error("the batch has a ledger")
	}
}

// TestVersions_FormerVersion records outcomes of a batch with a ledger like a version
// without ledgers, which ignores the batch's ledger flag.
func TestVersions_FormerVersion(t *testing.T) {
	t.Parallel()
	stores := deployments(t)
	s, before := stores[true], stores[false]
	b := acceptRead(t, s, 3)
	must(t, recorderOf(s).Record(t.Context(), b, changesOf(0, 2, campaign.OutcomeSent)))
	row := rowsOf(t, s, s.Campaigns, "B#"+b.Key.String())["HEAD"]
	unaware := b
	unaware.Ledger = false
	for range 2 { // it retries after a conflict
		batchLedger, err := before.Ledger(t.Context(), unaware, []int{0})
		must(t, err)
		if err := enter(t, before, unaware, batchLedger, batchLedger.Effective(changesOf(0, 3, campaign.OutcomeFailed))); !errors.Is(err, campaign.ErrLostRace) {
			t.Errorf("error %v, want a lost race", err)
		}
	}
	rows := rowsOf(t, s, s.Campaigns, "B#"+b.Key.String())
	if diff := cmp.Diff(row, rows["HEAD"], cmpopts.IgnoreUnexported(types.AttributeValueMemberS{}, types.AttributeValueMemberN{}, types.AttributeValueMemberBOOL{})); diff != "" || len(rows) != 1 {
		t.Errorf("the rows of the batch, of which there are %d, changed:\n%s", len(rows), diff)
	}
	if found, err := before.FindBatch(t.Context(), b.Key); err != nil || found.BatchRef != b.BatchRef {
		t.Errorf("it finds %+v, error %v", found.BatchRef, err)
	}
	wantLog(t, s, b.Key, changesOf(0, 2, campaign.OutcomeSent))
}

// TestLedgersSince finds the batches with outcomes written since an instant, regardless of
// the outcomes' times.
func TestLedgersSince(t *testing.T) {
	t.Parallel()
	s := newLedgers(t, smallPages)
	now := later
	s.Now = func() time.Time { return now }
	keys := map[campaign.BatchKey]time.Time{}
	for i := range several {
		b := ledgerBatch(300)
		now = later.Add(time.Duration(i) * time.Hour)
		record(t, s, b, changesOf(0, 300, campaign.OutcomeSent)) // at the same times, and with LOG rows
		record(t, s, b, changesOf(0, 300, campaign.OutcomeDelivered))
		keys[b.Key] = now
	}
	over := ledgerBatch(1)
	over.AcceptedAt = now.Add(time.Hour - campaign.Retention)
	record(t, s, over, changesOf(0, 1, campaign.OutcomeSent))
	now = now.Add(2 * time.Hour)
	for _, since := range []time.Time{later.Add(-time.Hour), later.Add(2 * time.Hour), later.Add(150 * time.Minute), now} {
		var got, want []string
		for key, err := range s.LedgersSince(t.Context(), since) {
			must(t, err)
			got = append(got, key.String())
		}
		for key, at := range keys {
			if !at.Before(since) {
				want = append(want, key.String())
			}
		}
		slices.Sort(got)
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("since %v: %v, want %v", since, got, want)
		}
	}
}

// TestPages_Ledger reads a log of more rows than a DynamoDB response contains.
func TestPages_Ledger(t *testing.T) {
	t.Parallel()
	s := newLedgers(t, smallPages)
	b := ledgerBatch(300)
	b.Tenant = rand.Text()
	changes := spread(b.Accepted)
	record(t, s, b, changes)
	wantLog(t, s, b.Key, changes)
	if rows := rowsOf(t, newStore(t), s.Outcomes, b.Key.String()); rows["LOG"] == nil {
		t.Error("the log has no rows")
	}
}
