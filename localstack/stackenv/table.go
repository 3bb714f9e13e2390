package stackenv

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// OwnTable creates an empty table with the schema of another and returns its name.
// The test's cleanup deletes the table. Use it for tests that other tests' items
// would disturb, and for tests that query indexes often: the emulator scans the whole
// table for each index query.
func (e Env) OwnTable(tb testing.TB, like string) string {
	tb.Helper()
	client, name := dynamodb.NewFromConfig(e.AWS()), "test-"+rand.Text()
	if err := CopyShape(tb.Context(), client, client, like, name); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if _, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
			tb.Errorf("delete the test's table: %v", err)
		}
	})
	return name
}

// LedgerTable creates an empty table with the schema of the outcomes table and returns its
// name and its stream's ARN. The test's cleanup deletes the table.
func (e Env) LedgerTable(tb testing.TB) (name, stream string) {
	tb.Helper()
	name = e.OwnTable(tb, e["OUTCOMES_TABLE"])
	made, err := dynamodb.NewFromConfig(e.AWS()).DescribeTable(tb.Context(), &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil {
		tb.Fatalf("describe a table: %v", err)
	}
	return name, aws.ToString(made.Table.LatestStreamArn)
}

// DueShards returns the shards of a table's index of due items that have rows. Querying
// every shard is slow, because the emulator scans the whole table each time.
func DueShards(tb testing.TB, client *dynamodb.Client, table string) []int {
	tb.Helper()
	found := map[int]bool{}
	pages := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{
		TableName: &table, ConsistentRead: aws.Bool(true), ProjectionExpression: aws.String("#due"), ExpressionAttributeNames: map[string]string{"#due": "due"},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(tb.Context())
		if err != nil {
			tb.Fatalf("read the index of table %s: %v", table, err)
		}
		for _, row := range page.Items {
			due, ok := row["due"].(*types.AttributeValueMemberS)
			if !ok {
				continue
			}
			if shard, err := strconv.Atoi(due.Value); err == nil {
				found[shard] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// CopyShape creates an empty table with the schema of another.
func CopyShape(ctx context.Context, from, to *dynamodb.Client, like, name string) error {
	shape, err := from.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &like})
	if err != nil {
		return fmt.Errorf("describe table %s: %w", like, err)
	}
	_, err = to.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		KeySchema: shape.Table.KeySchema, AttributeDefinitions: shape.Table.AttributeDefinitions,
		GlobalSecondaryIndexes: indexesLike(shape.Table.GlobalSecondaryIndexes), StreamSpecification: shape.Table.StreamSpecification,
	})
	if err != nil {
		return fmt.Errorf("create table %s: %w", name, err)
	}
	return nil
}

// indexesLike returns the definitions of the indexes. It returns nil for none, because
// DynamoDB rejects an empty list.
func indexesLike(all []types.GlobalSecondaryIndexDescription) (indexes []types.GlobalSecondaryIndex) {
	for _, d := range all {
		indexes = append(indexes, types.GlobalSecondaryIndex{IndexName: d.IndexName, KeySchema: d.KeySchema, Projection: d.Projection})
	}
	return indexes
}
