package restore_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dynamo"
	"campaign-dispatch/internal/restore"
	"campaign-dispatch/localstack/stackenv"
)

// book is a store with tables of its own.
func book(t *testing.T, env stackenv.Env) *dynamo.Store {
	t.Helper()
	return &dynamo.Store{
		Client: dynamodb.NewFromConfig(env.AWS()), Auth: env.OwnTable(t, env["AUTH_TABLE"]), Campaigns: env.OwnTable(t, env["CAMPAIGNS_TABLE"]), Now: time.Now,
	}
}

func TestWhoOptedOutSinceStaysSo(t *testing.T) {
	t.Parallel()
	env := stackenv.Load(t)
	source, restored := book(t, env), book(t, env)
	if err := restored.SaveTenant(t.Context(), campaign.Tenant{ID: "acme", Name: "Acme", AgentID: "agent"}); err != nil {
		t.Fatal(err)
	}
	put := func(s *dynamo.Store, shard, version int, packed string) {
		t.Helper()
		o := campaign.OptOuts{Shard: shard, Version: version, Packed: []byte(packed), Recent: []byte("recent " + packed)}
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
	for _, want := range []int{2, 0} { // a command that was broken off is called again
		if taken, err := restore.CarryOptOuts(t.Context(), source, restored); err != nil || taken != want {
			t.Errorf("%d sets were taken, %v; want %d", taken, err, want)
		}
	}
	got, err := restored.OptOuts(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	want := []campaign.OptOuts{
		{Shard: 0, Version: 3, Packed: []byte("opted out since"), Recent: []byte("recent opted out since")},
		{Shard: 1, Version: 1, Packed: []byte("the first ever"), Recent: []byte("recent the first ever")},
		{Shard: 2, Version: 5, Packed: []byte("newer"), Recent: []byte("recent newer")},
		{Shard: 3, Version: 4, Packed: []byte("as it was"), Recent: []byte("recent as it was")},
		{Shard: 4, Version: 1, Packed: []byte("lost in the source"), Recent: []byte("recent lost in the source")},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
