package expiry_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/privacy/expiry"
	"campaign-dispatch/localstack/stackenv"
)

// beginning is far in the future, so that sweep does not process these campaigns.
var beginning = time.Date(2100, 3, 1, 12, 0, 0, 0, time.UTC)

const day = 24 * time.Hour

// archive is a campaign in its own table, with a clock.
type archive struct {
	t     *testing.T
	store *dynamotest.Store
	now   time.Time
	id    campaign.ID
	name  string
}

func newArchive(t *testing.T) *archive {
	t.Helper()
	env := stackenv.Load(t)
	a := &archive{t: t, now: beginning, id: campaign.ID{Tenant: "acme", CampaignID: "0190b6a4-7a1c-4d51-b5a0-3c1f0a4b9f10"}, name: "Natal"}
	a.store = dynamotest.New(dynamo.Tables{
		Client: dynamodb.NewFromConfig(env.AWS()), Campaigns: env.OwnTable(t, env["CAMPAIGNS_TABLE"]), Outcomes: env["OUTCOMES_TABLE"], Now: func() time.Time { return a.now },
	})
	return a
}

func (a *archive) must(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

// accept adds a batch to the campaign at the current time.
func (a *archive) accept(ordinal int, batch string) error {
	a.t.Helper()
	b := campaign.Batch{
		BatchRef: campaign.BatchRef{ID: a.id, BatchID: campaign.BatchID(batch)}, Accepted: 1,
		AcceptedAt: a.now, Due: a.now, State: campaign.BatchCompleted,
	}
	_, _ = rand.Read(b.Key[:])
	return a.store.Accept(a.t.Context(), acceptance.Command{
		Batch: b, Campaign: a.name, Ordinal: ordinal, Packed: []byte{1}, CreatedAt: beginning,
	}, rand.Text())
}

// rows counts the rows of the campaign and of its name, by kind.
func (a *archive) rows() map[string]int {
	a.t.Helper()
	kinds := map[string]int{}
	pages := dynamodb.NewScanPaginator(a.store.Tables().Client, &dynamodb.ScanInput{TableName: aws.String(a.store.Tables().Campaigns), ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(a.t.Context())
		a.must(err)
		for _, row := range page.Items {
			kinds[row["pk"].(*types.AttributeValueMemberS).Value[:1]+" "+row["sk"].(*types.AttributeValueMemberS).Value[:3]]++
		}
	}
	return kinds
}

// due returns the number of campaigns that sweep finds at the current time.
func (a *archive) due() (campaigns int) {
	a.t.Helper()
	for shard := range dynamo.DueShards {
		for due, err := range a.store.Due(a.t.Context(), shard, a.now) {
			a.must(err)
			if due.Campaign != nil && *due.Campaign == a.id {
				campaigns++
			}
		}
	}
	return campaigns
}

func (a *archive) expirer() *expiry.Expirer {
	return &expiry.Expirer{Store: a.store, Now: a.store.Tables().Now}
}

func (a *archive) look(want bool) {
	a.t.Helper()
	deleted, err := a.expirer().ExpireIfDue(a.t.Context(), a.id)
	a.must(err)
	if deleted != want {
		a.t.Errorf("deleted: %v, want %v", deleted, want)
	}
}

func TestExpireIfDue_LastBatch(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	const batches = 30 // more than one call deletes
	for i := range batches {
		a.now = beginning.Add(time.Duration(i) * day)
		a.must(a.accept(i+1, fmt.Sprint("batch ", i)))
	}
	last := a.now

	a.now = beginning.Add(campaign.Retention - time.Second)
	if n := a.due(); n != 0 {
		t.Errorf("sweep finds %d campaigns before the first of its batches ends", n)
	}
	a.now = beginning.Add(campaign.Retention)
	if n := a.due(); n != 1 {
		t.Fatalf("sweep finds %d campaigns when its first batch has ended", n)
	}
	a.look(false)
	if n := a.due(); n != 0 {
		t.Error("the check was not moved")
	}
	a.now = last.Add(campaign.Retention - time.Second)
	a.look(false)
	if rows := a.rows(); rows["C SET"] != batches || rows["N NAM"] != 1 || rows["C MET"] != 1 {
		t.Errorf("rows of a campaign whose last batch has not ended: %v", rows)
	}

	a.now = last.Add(campaign.Retention)
	if n := a.due(); n != 1 {
		t.Fatalf("sweep finds %d campaigns when its last batch has ended", n)
	}
	a.look(true)
	if diff := cmp.Diff(map[string]int{"B HEA": batches}, a.rows()); diff != "" { // DynamoDB expires these
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	a.must(a.accept(1, "batch 0")) // the id and both names are free again
}

// DynamoDB deletes an expired batch some days later.
func TestStore_ExpiredBatch(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	a.must(a.accept(1, "first"))
	a.now = beginning.Add(campaign.Retention - time.Second)
	a.must(a.accept(2, "second"))
	if c, err := a.store.Campaign(t.Context(), a.id); err != nil || len(c.Batches) != 2 {
		t.Errorf("a second before the end: %d batches, %v", len(c.Batches), err)
	}
	a.now = beginning.Add(campaign.Retention)
	c, err := a.store.Campaign(t.Context(), a.id)
	if err != nil || len(c.Batches) != 1 || c.Batches[0].Ordinal != 2 {
		t.Errorf("at the end: %v, %v; want the second batch alone", c.Batches, err)
	}
	first := campaign.BatchRef{ID: a.id, BatchID: campaign.BatchID("first")}
	if _, err := a.store.Batch(t.Context(), first); !errors.Is(err, campaign.ErrNotFound) {
		t.Errorf("the batch is read: %v", err)
	}
	q := acceptance.Query{Tenant: a.id.Tenant, CampaignID: a.id.CampaignID, BatchID: first.BatchID, Name: a.name}
	snapshot, err := a.store.Snapshot(t.Context(), q)
	if err != nil || snapshot.Batch != nil || len(snapshot.Sets) != 2 || snapshot.Meta.Batches != 2 {
		t.Errorf("a dispatch call sees %+v, %v; want no such batch, and the numbers of both", snapshot, err)
	}
	a.must(a.accept(3, "first"))
}

func TestExpireIfDue_BatchAdded(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	a.must(a.accept(1, "first"))
	a.now = beginning.Add(campaign.Retention)
	late := &overtaken{Store: a.store, by: func() { a.must(a.accept(2, "second")) }}
	deleted, err := (&expiry.Expirer{Store: late, Now: a.store.Tables().Now}).ExpireIfDue(t.Context(), a.id)
	if err != nil || deleted {
		t.Errorf("deleted: %v, %v", deleted, err)
	}
	if rows := a.rows(); rows["C SET"] != 2 || rows["C MET"] != 1 {
		t.Errorf("rows: %v", rows)
	}
	a.look(false)
	if n := a.due(); n != 0 {
		t.Error("the check was not moved")
	}
}

// overtaken runs a function after the expirer has read the campaign.
type overtaken struct {
	expiry.Store
	by func()
}

func (o *overtaken) Lifetime(ctx context.Context, id campaign.ID) (campaign.Lifetime, error) {
	l, err := o.Store.Lifetime(ctx, id)
	o.by()
	return l, err
}

// A campaign that is being deleted is not visible and accepts no batch; a dispatch call
// has to retry. No other expirer works on it during the lease.
func TestExpireIfDue_InProgress(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	a.must(a.accept(1, "first"))
	a.now = beginning.Add(campaign.Retention)
	l, err := a.store.Lifetime(t.Context(), a.id)
	a.must(err)
	mine, err := a.store.StartExpiry(t.Context(), l, a.now.Add(10*time.Minute))
	if err != nil || !mine {
		t.Fatal(mine, err)
	}
	for doing, want := range map[string]error{
		"extending": campaign.ErrLostRace, "creating": campaign.ErrLostRace, "judging": campaign.ErrLostRace,
		"reading": campaign.ErrNotFound, "reading a batch": campaign.ErrNotFound, "cancelling": campaign.ErrNotFound,
	} {
		if err := a.try(doing); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", doing, err, want)
		}
	}
	if list, err := a.store.ListCampaigns(t.Context(), a.id.Tenant, "", 10); err != nil || len(list) > 0 {
		t.Errorf("it is listed: %v, %v", list, err)
	}
	a.look(false)
	if rows := a.rows(); rows["C SET"] != 1 {
		t.Error("another expirer deleted rows during the lease")
	}
	a.now = a.now.Add(10 * time.Minute)
	a.look(true)
	a.must(a.accept(1, "first"))
}

func (a *archive) try(doing string) error {
	a.t.Helper()
	ctx := a.t.Context()
	switch doing {
	case "extending":
		return a.accept(2, "second")
	case "creating":
		return a.accept(1, "first")
	case "judging":
		_, err := a.store.Snapshot(ctx, acceptance.Query{Tenant: a.id.Tenant, CampaignID: a.id.CampaignID})
		return err
	case "reading":
		_, err := a.store.Campaign(ctx, a.id)
		return err
	case "reading a batch":
		_, _, err := a.store.BatchProgress(ctx, a.id, campaign.BatchID("first"))
		return err
	}
	return a.store.CancelCampaign(ctx, a.id, a.now, false)
}

var errDied = errors.New("the process died")

// dying fails at its nth call, before or after the call takes effect.
type dying struct {
	expiry.Store
	at    int
	after bool
	calls int
}

func (d *dying) call(do func() error) error {
	d.calls++
	if d.calls > d.at || d.calls == d.at && !d.after {
		return errDied
	}
	if err := do(); err != nil || d.calls < d.at {
		return err
	}
	return errDied
}

func (d *dying) StartExpiry(ctx context.Context, l campaign.Lifetime, lease time.Time) (mine bool, err error) {
	err = d.call(func() (err error) { mine, err = d.Store.StartExpiry(ctx, l, lease); return err })
	return mine, err
}

func (d *dying) ExpireRows(ctx context.Context, id campaign.ID) (done bool, err error) {
	err = d.call(func() (err error) { done, err = d.Store.ExpireRows(ctx, id); return err })
	return done, err
}

func (d *dying) EndExpiry(ctx context.Context, l campaign.Lifetime) error {
	return d.call(func() error { return d.Store.EndExpiry(ctx, l) })
}

func TestExpireIfDue_CrashAtAnyCall(t *testing.T) {
	t.Parallel()
	for at := 1; at <= 4; at++ { // StartExpiry, ExpireRows twice, EndExpiry
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("call %d, after it %v", at, after), func(t *testing.T) {
				t.Parallel()
				a := newArchive(t)
				a.must(a.accept(1, "first"))
				a.now = beginning.Add(campaign.Retention)
				_, err := (&expiry.Expirer{Store: &dying{Store: a.store, at: at, after: after}, Now: a.store.Tables().Now}).ExpireIfDue(t.Context(), a.id)
				if !errors.Is(err, errDied) {
					t.Fatalf("no call failed: %v", err)
				}
				a.now = a.now.Add(time.Hour)
				a.look(true)
				if diff := cmp.Diff(map[string]int{"B HEA": 1}, a.rows()); diff != "" {
					t.Errorf("rows (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// Another campaign may have the name when the expirer continues.
func TestExpireIfDue_NameReused(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	a.must(a.accept(1, "first"))
	l, err := a.store.Lifetime(t.Context(), a.id)
	a.must(err)
	a.now = beginning.Add(campaign.Retention)
	a.look(true)
	a.id.CampaignID = "0190b6a4-7a1c-4d51-b5a0-3c1f0a4b9f11"
	a.must(a.accept(1, "first"))
	a.must(a.store.EndExpiry(t.Context(), l))
	if rows := a.rows(); rows["N NAM"] != 1 || rows["C MET"] != 1 {
		t.Errorf("rows: %v", rows)
	}
}
