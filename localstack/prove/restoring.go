package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/ops/restore"
	"campaign-dispatch/localstack/ownstack"
	"campaign-dispatch/localstack/stackenv"
	"campaign-dispatch/localstack/uuid"
)

// restoring sends half of a campaign, marks the instant, sends the rest and accepts
// more, loses every row, and goes back to the instant. The emulator restores a table
// as it is when it is asked, so it is asked at the instant; the rest is the operator's
// own commands.
func restoring(ctx context.Context, stack *ownstack.Stack, env stackenv.Env) (result, error) {
	s, err := newService(ctx, env)
	if err != nil {
		return result{}, err
	}
	c := disaster{service: s, first: uuid.New(), second: uuid.New(), numbers: slices.Collect(slices.Chunk(someNumbers(800), 200))}
	at, err := c.before(ctx)
	if err != nil {
		return result{}, err
	}
	if err := c.after(ctx); err != nil {
		return result{}, err
	}
	if err := c.lose(ctx); err != nil {
		return result{}, err
	}
	if err := goBack(ctx, stack, env, at); err != nil {
		return result{}, err
	}
	return c.verdict(ctx)
}

// restored are the tables that go back, and the parameters that let them stand in.
var restored = []struct{ variable, parameter string }{
	{"AUTH_TABLE", "RestoredAuthTable"},
	{"CAMPAIGNS_TABLE", "RestoredCampaignsTable"},
	{"OUTCOMES_TABLE", "RestoredOutcomesTable"},
	{"WEBHOOKS_TABLE", "RestoredWebhooksTable"},
}

// disaster is what is sent around the instant. Of the first campaign, one batch is
// sent before it and one after, having been accepted before; a third is accepted
// after, as is all of the second campaign.
type disaster struct {
	service

	first, second string
	numbers       [][]uint64
}

func (d disaster) before(ctx context.Context) (at time.Time, err error) {
	if err := d.behave(ctx, map[string]any{"noEvents": true}); err != nil {
		return at, err
	}
	if err := d.dispatch(ctx, d.first, 1, d.numbers[0]); err != nil {
		return at, err
	}
	if err := d.sent(ctx, d.first, len(d.numbers[0])); err != nil {
		return at, err
	}
	if err := operate(ctx, d.env, "pause", "--all"); err != nil {
		return at, err
	}
	if err := d.dispatch(ctx, d.first, 2, d.numbers[1]); err != nil {
		return at, err
	}
	at = time.Now()
	tables := restore.Tables{Client: dynamodb.NewFromConfig(d.env.AWS()), Tick: time.Second}
	for _, table := range restored {
		if err := tables.Begin(ctx, d.env[table.variable], at); err != nil {
			return at, err
		}
	}
	return at, operate(ctx, d.env, "resume", "--all")
}

func (d disaster) after(ctx context.Context) error {
	if err := d.dispatch(ctx, d.first, 3, d.numbers[2]); err != nil {
		return err
	}
	if err := d.dispatch(ctx, d.second, 1, d.numbers[3]); err != nil {
		return err
	}
	if err := d.sent(ctx, d.first, 600); err != nil {
		return err
	}
	return d.sent(ctx, d.second, 200)
}

// sent returns when so many messages of a campaign were sent.
func (d disaster) sent(ctx context.Context, id string, n int) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	for {
		now, err := d.campaign(ctx, id)
		if err != nil {
			return err
		}
		if now.Counts["sent"] == n && now.Accepted == n {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d messages were to be sent, of %d accepted: %v", n, now.Accepted, now.Counts)
		case <-time.After(time.Second):
		}
	}
}

// lose deletes every row of the campaigns and of what became of them.
func (d disaster) lose(ctx context.Context) error {
	for _, variable := range []string{"CAMPAIGNS_TABLE", "OUTCOMES_TABLE", "WEBHOOKS_TABLE"} {
		if err := d.loseRows(ctx, d.env[variable]); err != nil {
			return err
		}
	}
	return nil
}

func (d disaster) loseRows(ctx context.Context, table string) error {
	client := dynamodb.NewFromConfig(d.env.AWS())
	rows := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: &table})
	for rows.HasMorePages() {
		page, err := rows.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("read the rows to lose: %w", err)
		}
		for _, row := range page.Items {
			_, err := client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
				TableName: &table, Key: map[string]types.AttributeValue{"pk": row["pk"], "sk": row["sk"]},
			})
			if err != nil {
				return fmt.Errorf("lose a row: %w", err)
			}
		}
	}
	return nil
}

// goBack is what an operator does.
func goBack(ctx context.Context, stack *ownstack.Stack, env stackenv.Env, at time.Time) error {
	if err := operate(ctx, env, "restore", "--at", at.Format(time.RFC3339)); err != nil {
		return err
	}
	tables := restore.Tables{Client: dynamodb.NewFromConfig(env.AWS())}
	stream, err := tables.Stream(ctx, restore.Name(env["OUTCOMES_TABLE"], at))
	if err != nil {
		return err
	}
	flags := []string{"--parameter", "RestoredOutcomesStream=" + stream}
	for _, table := range restored {
		flags = append(flags, "--parameter", table.parameter+"="+restore.Name(env[table.variable], at))
	}
	env, err = stack.Redeploy(ctx, flags...)
	if err != nil {
		return err
	}
	if err := operate(ctx, env, "reopen"); err != nil {
		return err
	}
	return operate(ctx, env, "resume", "--all")
}

func (d disaster) verdict(ctx context.Context) (result, error) {
	if err := d.sent(ctx, d.first, 400); err != nil {
		return result{}, err
	}
	known := slices.Concat(d.numbers[0], d.numbers[1])
	once, err := d.sentOnce(ctx, known)
	if err != nil {
		return result{}, err
	}
	_, gone := d.campaign(ctx, d.second)
	for _, again := range []error{d.dispatch(ctx, d.first, 3, d.numbers[2]), d.dispatch(ctx, d.second, 1, d.numbers[3])} {
		if again != nil {
			return result{}, again
		}
	}
	return result{
		"deployment", "every row lost, and the tables restored to an instant in the midst of a campaign",
		fmt.Sprintf("%d messages accepted before are all sent, %d of them once; what was accepted after is gone (%s) and was taken again", len(known), once, answered(gone)),
		once == len(known) && answered(gone) == "404",
	}, nil
}
