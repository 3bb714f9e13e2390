package restore_test

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/operator/restore"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/reach/lists"
	listbook "campaign-dispatch/internal/reach/lists/book"
	"campaign-dispatch/internal/reach/lists/lookup"
	"campaign-dispatch/localstack/stackenv"
)

// ownBucket returns an empty bucket: a Cleaner deletes the segments of all tenants that its table does not name.
func ownBucket(t *testing.T, env stackenv.Env) *s3.Store {
	t.Helper()
	bucket := strings.ToLower("restore-" + rand.Text())
	blobs := s3.New(env.AWS(), bucket, true)
	if _, err := blobs.Client.CreateBucket(t.Context(), &awss3.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		for o, err := range blobs.List(ctx, "") {
			if err == nil {
				_ = blobs.Delete(ctx, o.Key)
			}
		}
		_, _ = blobs.Client.DeleteBucket(ctx, &awss3.DeleteBucketInput{Bucket: aws.String(bucket)})
	})
	return blobs
}

// copied returns the store of a copy of the Campaigns table.
func copied(t *testing.T, of *dynamotest.Store) *dynamotest.Store {
	t.Helper()
	tables, now := of.Tables(), time.Now()
	target := restore.Name(tables.Campaigns, now)
	copier := restore.Tables{Client: tables.Client, Tick: time.Millisecond}
	if err := copier.Begin(t.Context(), tables.Campaigns, now); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { drop(t, tables.Client, target) })
	if err := copier.Await(t.Context(), target, func() {}); err != nil {
		t.Fatal(err)
	}
	return dynamotest.New(dynamo.Tables{Client: tables.Client, Auth: tables.Auth, Campaigns: target, Now: tables.Now})
}

// A restored list holds back the numbers of its time, also after it was replaced or deleted. The report names
// the lists that changed since, and those whose segments are gone.
func TestCompareLists_ReplacedSince(t *testing.T) {
	t.Parallel()
	env := stackenv.Load(t)
	current, blobs, now := book(t, env), ownBucket(t, env), time.Now()
	clock := func() time.Time { return now }
	tenantLists := &tenantLists{&listbook.Book{Store: current, Blobs: blobs, Now: clock}}
	tenantLists.replace(t, "kept", 4)
	tenantLists.replace(t, "replaced", 1)
	tenantLists.replace(t, "deleted", 2)
	if err := current.SaveTenant(t.Context(), campaign.Tenant{ID: "acme", Name: "Acme", AgentID: "agent"}, nil); err != nil {
		t.Fatal(err)
	}
	restored := copied(t, current)
	tenantLists.replace(t, "replaced", 3)
	if err := tenantLists.Delete(t.Context(), "acme", "deleted", account.AuditEntry{}); err != nil {
		t.Fatal(err)
	}
	cleaner := &listbook.Cleaner{Rows: current, Objects: blobs, Now: func() time.Time { return now.Add(listbook.UnusedLife - time.Hour) }}
	if n, err := cleaner.Clean(t.Context()); n != 0 || err != nil {
		t.Fatalf("%d segments were deleted, %v", n, err)
	}
	of, err := (&lookup.Cache{Store: restored, Blobs: blobs, Now: clock}).KeptBy(t.Context(), "acme", "", now)
	if err != nil || of(1) == 0 || of(2) == 0 || of(3) != 0 || of(4) == 0 {
		t.Errorf("the restored lists have other numbers, %v", err)
	}
	report := func() restore.ListReport {
		r, err := restore.CompareLists(t.Context(), listBookOf(current), listBookOf(restored), blobs.Exists)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	want := restore.ListReport{Changed: []string{"acme/deleted", "acme/replaced"}}
	if diff := cmp.Diff(want, report()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	cleaner.Now = func() time.Time { return now.Add(listbook.UnusedLife + time.Hour) }
	if n, err := cleaner.Clean(t.Context()); n != 2 || err != nil {
		t.Fatalf("%d segments were deleted, %v", n, err)
	}
	want.Unreadable = want.Changed
	if diff := cmp.Diff(want, report()); diff != "" {
		t.Errorf("without the segments (-want +got):\n%s", diff)
	}
}

func listBookOf(s *dynamotest.Store) *dynamo.Stores {
	return s.Stores
}

type tenantLists struct{ *listbook.Book }

// replace gives a list one number.
func (l *tenantLists) replace(t *testing.T, name string, number uint64) {
	t.Helper()
	change := lists.Change{Settings: &lists.Settings{Reason: "r"}, Replace: true, Add: numberset.New([]uint64{number})}
	if _, err := l.Change(t.Context(), "acme", name, change, account.AuditEntry{}); err != nil {
		t.Fatal(err)
	}
}
