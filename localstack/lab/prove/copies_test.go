package prove

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/localstack/lab/metering"
	"campaign-dispatch/localstack/stackenv"
)

// copyBatch writes copies of a batch: all rows of all tables whose key has the batch's key
// or id, with new keys and ids. Sending so many full batches would take the local stack
// hours. The copies share the batch's payload.
func copyBatch(ctx context.Context, env stackenv.Env, original campaign.Batch, copies int) ([]campaign.BatchKey, error) {
	client, keys := dynamodb.NewFromConfig(env.AWS()), make([]campaign.BatchKey, copies)
	names := make([]identity, copies)
	for i := range names {
		_, _ = rand.Read(keys[i][:])
		names[i] = identity{keys[i], campaign.BatchID(rand.Text())}
	}
	from := identity{original.Key, original.BatchID}
	for variable, table := range env {
		if !strings.HasSuffix(variable, "_TABLE") {
			continue
		}
		rows, err := rowsOf(ctx, client, table, from)
		if err != nil {
			return nil, err
		}
		if err := putCopies(ctx, client, table, rows, from, names); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// identity identifies a batch in its rows.
type identity struct {
	key campaign.BatchKey
	id  string
}

// rowsOf returns the batch's rows of a table.
func rowsOf(ctx context.Context, client *dynamodb.Client, table string, batch identity) (rows []metering.Item, err error) {
	pages := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("look for the rows of a batch: %w", err)
		}
		for _, row := range page.Items {
			if slices.ContainsFunc([]string{"pk", "sk"}, func(name string) bool { return batch.isIn(row[name]) }) {
				rows = append(rows, row)
			}
		}
	}
	return rows, nil
}

func (b identity) isIn(value types.AttributeValue) bool {
	text, is := value.(*types.AttributeValueMemberS)
	return is && (strings.Contains(text.Value, b.key.String()) || strings.Contains(text.Value, b.id))
}

// as returns a row of the batch as a row of another one. The head of a copy has no new
// entries, so that feed ignores it.
func (b identity) as(other identity, row metering.Item) metering.Item {
	next := metering.Item{}
	for name, value := range row {
		if name == "newAfter" {
			continue
		}
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			text := strings.ReplaceAll(v.Value, b.key.String(), other.key.String())
			next[name] = &types.AttributeValueMemberS{Value: strings.ReplaceAll(text, b.id, other.id)}
		case *types.AttributeValueMemberB:
			if len(v.Value) == 0 { // ReplaceAll would return nil, which is no value
				next[name] = value
				continue
			}
			next[name] = &types.AttributeValueMemberB{Value: bytes.ReplaceAll(v.Value, b.key[:], other.key[:])}
		default:
			next[name] = value
		}
	}
	return next
}

func putCopies(ctx context.Context, client *dynamodb.Client, table string, rows []metering.Item, from identity, names []identity) error {
	var puts []types.WriteRequest
	for _, to := range names {
		for _, row := range rows {
			puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: from.as(to, row)}})
		}
	}
	const perCall, atOnce = 25, 4
	var group errgroup.Group
	group.SetLimit(atOnce)
	for some := range slices.Chunk(puts, perCall) {
		group.Go(func() error {
			out, err := client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: some}})
			if err == nil && len(out.UnprocessedItems) > 0 {
				err = fmt.Errorf("%d rows were left out", len(out.UnprocessedItems[table]))
			}
			if err != nil {
				return fmt.Errorf("copy a batch: %w", err)
			}
			return nil
		})
	}
	return group.Wait()
}
