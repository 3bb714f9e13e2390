package dynamo_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/localstack/stackenv"
)

// A double click makes one entry. The same deed later, and another deed, make their own.
func TestAuditForm_DoubleClick(t *testing.T) {
	t.Parallel()
	env := stackenv.Load(t)
	store := dynamotest.New(dynamo.Tables{Client: dynamodb.NewFromConfig(env.AWS()), Campaigns: env["CAMPAIGNS_TABLE"], Outcomes: env["OUTCOMES_TABLE"], Now: time.Now})
	tenant, at := "t-"+rand.Text(), time.Now()
	entry := func(after time.Duration, details ...string) account.AuditEntry {
		return account.AuditEntry{Tenant: tenant, At: at.Add(after), Who: "ana@example.com", Action: "campaign.cancel", Subject: "Natal", Details: details}
	}
	for _, pair := range [][2]account.AuditEntry{
		{entry(0), entry(300 * time.Millisecond)},
		{entry(time.Second, "a"), entry(time.Second, "a")},
		{entry(3 * time.Second), entry(4 * time.Second)},
	} {
		var both errgroup.Group
		for _, e := range pair {
			both.Go(func() error { return store.AuditForm(t.Context(), e) })
		}
		if err := both.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	entries, _, err := store.AuditLog(t.Context(), tenant, "", 10)
	if err != nil || len(entries) != 3 {
		t.Errorf("%d entries, %v; want 3: %+v", len(entries), err, entries)
	}
}
