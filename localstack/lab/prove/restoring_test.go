package prove

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/operator/restore"
	"campaign-dispatch/localstack/lab/ephemeralstack"
	"campaign-dispatch/localstack/stackenv"
)

// restored are the tables that are restored, and the parameters that name what replaces
// them.
var restored = []struct{ variable, parameter string }{
	{"AUTH_TABLE", "RestoredAuthTable"},
	{"CAMPAIGNS_TABLE", "RestoredCampaignsTable"},
	{"OUTCOMES_TABLE", "RestoredOutcomesTable"},
	{"WEBHOOKS_TABLE", "RestoredWebhooksTable"},
}

// restoreTables sends a batch, accepts another, marks the instant, accepts more and sends
// all, deletes every row, and restores the tables to the instant. The emulator restores a
// table as it is at the call, so the copies are made at the instant; the rest are the
// operator's own commands.
func restoreTables(ctx context.Context, t *testing.T, stack *ephemeralstack.Stack, env stackenv.Env) {
	t.Helper()
	s, err := newService(ctx, env)
	check(t, err)
	first, second := random.UUID(), random.UUID()
	numbers := slices.Collect(slices.Chunk(someNumbers(800), 200))

	check(t, s.behave(ctx, map[string]any{"noEvents": true}))
	check(t, s.dispatch(ctx, first, 1, numbers[0]))
	check(t, s.awaitCount(ctx, first, 200))
	operate(ctx, t, env, "pause", "--all")
	check(t, s.dispatch(ctx, first, 2, numbers[1]))
	at := time.Now()
	tables := restore.Tables{Client: dynamodb.NewFromConfig(env.AWS()), Tick: time.Second}
	for _, table := range restored {
		check(t, tables.Begin(ctx, env[table.variable], at))
	}
	operate(ctx, t, env, "resume", "--all")

	check(t, s.dispatch(ctx, first, 3, numbers[2]))
	check(t, s.dispatch(ctx, second, 1, numbers[3]))
	check(t, s.awaitCount(ctx, first, 600))
	check(t, s.awaitCount(ctx, second, 200))

	for _, table := range restored[1:] {
		deleteRows(ctx, t, env, env[table.variable])
	}
	goBack(ctx, t, stack, env, at)

	check(t, s.awaitCount(ctx, first, 400))
	once, err := s.sentOnce(ctx, slices.Concat(numbers[0], numbers[1]))
	check(t, err)
	_, err = s.campaign(ctx, second)
	gone := strings.Contains(fmt.Sprint(err), "answered 404")
	check(t, s.dispatch(ctx, first, 3, numbers[2]))
	check(t, s.dispatch(ctx, second, 1, numbers[3]))
	record(t, once == 400 && gone,
		"every row deleted, and the tables restored to an instant while a campaign was sent",
		fmt.Sprintf("400 messages accepted before are all sent, %d of them once; what was accepted after answers 404 (%v) and was accepted again", once, gone))
}

// awaitCount returns when exactly so many messages of a campaign are accepted and sent.
func (s service) awaitCount(ctx context.Context, id string, n int) error {
	return eventually(ctx, 3*time.Minute, func() (bool, error) {
		now, err := s.campaign(ctx, id)
		if err == nil && (now.Counts["sent"] != n || now.Accepted != n) {
			err = fmt.Errorf("want %d messages sent, of %d accepted: %v", n, now.Accepted, now.Counts)
		}
		return err == nil, err
	})
}

func deleteRows(ctx context.Context, t *testing.T, env stackenv.Env, table string) {
	t.Helper()
	client := dynamodb.NewFromConfig(env.AWS())
	rows := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: &table})
	for rows.HasMorePages() {
		page, err := rows.NextPage(ctx)
		check(t, err)
		for _, row := range page.Items {
			_, err := client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
				TableName: &table, Key: map[string]types.AttributeValue{"pk": row["pk"], "sk": row["sk"]},
			})
			check(t, err)
		}
	}
}

// goBack restores the tables as an operator does.
func goBack(ctx context.Context, t *testing.T, stack *ephemeralstack.Stack, env stackenv.Env, at time.Time) {
	t.Helper()
	operate(ctx, t, env, "restore", "--at", at.Format(time.RFC3339))
	tables := restore.Tables{Client: dynamodb.NewFromConfig(env.AWS())}
	stream, err := tables.Stream(ctx, restore.Name(env["OUTCOMES_TABLE"], at))
	check(t, err)
	flags := []string{"--parameter", "RestoredOutcomesStream=" + stream}
	for _, table := range restored {
		flags = append(flags, "--parameter", table.parameter+"="+restore.Name(env[table.variable], at))
	}
	env, err = stack.Redeploy(ctx, flags...)
	check(t, err)
	operate(ctx, t, env, "reopen")
	operate(ctx, t, env, "resume", "--all")
}
