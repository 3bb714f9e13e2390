package stackenv

import (
	"context"
	"crypto/rand"
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
	shape, err := client.DescribeTable(tb.Context(), &dynamodb.DescribeTableInput{TableName: &like})
	if err != nil {
		tb.Fatalf("look up the shape of a table: %v", err)
	}
	_, err = client.CreateTable(tb.Context(), &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		KeySchema: shape.Table.KeySchema, AttributeDefinitions: shape.Table.AttributeDefinitions,
		GlobalSecondaryIndexes: indexesLike(shape.Table.GlobalSecondaryIndexes),
	})
	if err != nil {
		tb.Fatalf("make a table: %v", err)
	}
	tb.Cleanup(func() {
		if _, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
			tb.Errorf("delete the test's table: %v", err)
		}
	})
	return name
}

func indexesLike(all []types.GlobalSecondaryIndexDescription) []types.GlobalSecondaryIndex {
	indexes := make([]types.GlobalSecondaryIndex, len(all))
	for i, d := range all {
		indexes[i] = types.GlobalSecondaryIndex{IndexName: d.IndexName, KeySchema: d.KeySchema, Projection: d.Projection}
	}
	return indexes
}
