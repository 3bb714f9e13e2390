package stackenv

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"

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
	deleteAfter(tb, client, name)
	return name
}

// deleteAfter deletes the table in the test's cleanup.
func deleteAfter(tb testing.TB, client *dynamodb.Client, name string) {
	tb.Helper()
	tb.Cleanup(func() {
		if _, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
			tb.Errorf("delete the test's table: %v", err)
		}
	})
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
