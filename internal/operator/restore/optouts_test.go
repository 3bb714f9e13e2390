package restore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/operator/restore"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/reach/optout"
	"campaign-dispatch/localstack/stackenv"
)

// book returns a store with tables of its own.
func book(t *testing.T, env stackenv.Env) *dynamotest.Store {
	t.Helper()
	return dynamotest.New(dynamo.Tables{
		Client: dynamodb.NewFromConfig(env.AWS()), Auth: env.OwnTable(t, env["AUTH_TABLE"]), Campaigns: env.OwnTable(t, env["CAMPAIGNS_TABLE"]), Now: time.Now,
	})
}

func bookOf(s *dynamotest.Store) *dynamo.Stores {
	return s.Stores
}

func TestCarryOptOuts_NewerOptOuts(t *testing.T) {
	t.Parallel()
	env := stackenv.Load(t)
	source, restored := book(t, env), book(t, env)
	if err := restored.SaveTenant(t.Context(), campaign.Tenant{ID: "acme", Name: "Acme", AgentID: "agent"}, nil); err != nil {
		t.Fatal(err)
	}
	put := func(s *dynamotest.Store, shard, version int, packed string) {
		t.Helper()
		o := campaign.OptOuts{Shard: shard, Version: version, Packed: []byte(packed), Recent: []byte("recent " + packed), Origins: []byte("from " + packed)}
		if kept, err := s.KeepOptOuts(t.Context(), "acme", o); err != nil || !kept {
			t.Fatalf("%v, %v", kept, err)
		}
	}
	put(source, 0, 3, "opted out since")
	put(restored, 0, 1, "before")
	put(source, 1, 1, "the first ever")
	put(source, 2, 2, "stale")
	put(restored, 2, 5, "newer")
	put(source, 3, 4, "as it was")
	put(restored, 3, 4, "as it was")
	put(restored, 4, 1, "lost in the source")
	for _, want := range []int{2, 0} { // an interrupted command is run again
		if taken, err := restore.CarryOptOuts(t.Context(), bookOf(source), bookOf(restored)); err != nil || taken != want {
			t.Errorf("%d sets were taken, %v; want %d", taken, err, want)
		}
	}
	got, err := restored.OptOuts(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	want := []campaign.OptOuts{
		{Shard: 0, Version: 3, Packed: []byte("opted out since"), Recent: []byte("recent opted out since"), Origins: []byte("from opted out since")},
		{Shard: 1, Version: 1, Packed: []byte("the first ever"), Recent: []byte("recent the first ever"), Origins: []byte("from the first ever")},
		{Shard: 2, Version: 5, Packed: []byte("newer"), Recent: []byte("recent newer"), Origins: []byte("from newer")},
		{Shard: 3, Version: 4, Packed: []byte("as it was"), Recent: []byte("recent as it was"), Origins: []byte("from as it was")},
		{Shard: 4, Version: 1, Packed: []byte("lost in the source"), Recent: []byte("recent lost in the source"), Origins: []byte("from lost in the source")},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A shard that is divided into parts in one table or both is copied completely, and
// leaves no orphaned part.
func TestCarryOptOuts_ShardInParts(t *testing.T) {
	t.Parallel()
	env := stackenv.Load(t)
	source, restored := book(t, env), book(t, env)
	if err := restored.SaveTenant(t.Context(), campaign.Tenant{ID: "acme", Name: "Acme", AgentID: "agent"}, nil); err != nil {
		t.Fatal(err)
	}
	out := func(s *dynamotest.Store, from, to int) {
		t.Helper()
		b := &optout.Book{Store: s, Now: time.Now, MaxRow: 400, MaxPart: 200}
		var changes []campaign.OptChange
		for i := from; i < to; i++ {
			changes = append(changes, campaign.OptChange{Phone: fmt.Sprint("+", 5511900000000+i*optout.Shards), Out: true, At: time.Now(), Origin: campaign.OriginHand})
		}
		if err := b.Record(t.Context(), "acme", changes); err != nil {
			t.Fatal(err)
		}
	}
	known := func(s *dynamotest.Store, to int) {
		t.Helper()
		has, err := (&optout.Book{Store: s, Now: time.Now}).OptedOut(t.Context(), "acme", time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		origin, err := (&optout.Book{Store: s, Now: time.Now}).Origin(t.Context(), "acme", "+5511900000000")
		if err != nil || origin != campaign.OriginHand {
			t.Errorf("the origin of a number is %v, error %v", origin, err)
		}
		for i := range to + 1 {
			if phone := e164.Number(5511900000000 + i*optout.Shards); has(phone) != (i < to) {
				t.Fatalf("number %d of %d is known as %v", i, to, i >= to)
			}
		}
	}
	carry := func(from, into *dynamotest.Store, want int) {
		t.Helper()
		if taken, err := restore.CarryOptOuts(t.Context(), bookOf(from), bookOf(into)); err != nil || taken != want {
			t.Fatalf("%d sets were taken, %v; want %d", taken, err, want)
		}
	}
	if err := source.SaveTenant(t.Context(), campaign.Tenant{ID: "acme", Name: "Acme", AgentID: "agent"}, nil); err != nil {
		t.Fatal(err)
	}
	out(restored, 0, 5) // the restored state
	out(source, 0, 5)
	for i := 1; i < 4; i++ {
		out(source, 5*i, 20*i)
	}
	carry(source, restored, 1)
	carry(source, restored, 0)
	known(restored, 60)
	out(restored, 60, 150) // while the restored table is in use
	carry(restored, source, 1)
	known(source, 150)
	shard, err := source.OptOutShard(t.Context(), "acme", int(5511900000000%optout.Shards))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := source.Tables().Client.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(source.Tables().Campaigns), ConsistentRead: aws.Bool(true)})
	const others = 4 // the tenant's two rows, that of its agent's owner, and the shard's
	if err != nil || len(rows.Items) != others+len(shard.Parts) {
		t.Errorf("the table has %d rows, %v; the shard has %d parts", len(rows.Items), err, len(shard.Parts))
	}
}
