package stackenv

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// OwnTable makes an empty table of the shape of another, which lives as long as the
// test, and returns its name: for tests that see what others leave in a table, or
// that read indexes often, for which the emulator goes through the whole table.
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

// CopyShape makes an empty table of the shape of another.
func CopyShape(ctx context.Context, from, to *dynamodb.Client, like, name string) error {
	shape, err := from.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &like})
	if err != nil {
		return fmt.Errorf("look up the shape of a table: %w", err)
	}
	_, err = to.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		KeySchema: shape.Table.KeySchema, AttributeDefinitions: shape.Table.AttributeDefinitions,
		GlobalSecondaryIndexes: indexesLike(shape.Table.GlobalSecondaryIndexes), StreamSpecification: shape.Table.StreamSpecification,
	})
	if err != nil {
		return fmt.Errorf("make a table: %w", err)
	}
	return nil
}

// indexesLike returns nil for none, as DynamoDB wants it.
func indexesLike(all []types.GlobalSecondaryIndexDescription) (indexes []types.GlobalSecondaryIndex) {
	for _, d := range all {
		indexes = append(indexes, types.GlobalSecondaryIndex{IndexName: d.IndexName, KeySchema: d.KeySchema, Projection: d.Projection})
	}
	return indexes
}
