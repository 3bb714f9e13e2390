package stackenv

import (
	"crypto/rand"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// LedgerTable creates an empty outcomes table with a stream and returns its name and
// the stream's ARN. The test's cleanup deletes the table.
func (e Env) LedgerTable(tb testing.TB) (name, stream string) {
	tb.Helper()
	client := dynamodb.NewFromConfig(e.AWS())
	name = "outcomes-" + rand.Text()
	pk, sk, text := aws.String("pk"), aws.String("sk"), types.ScalarAttributeTypeS
	made, err := client.CreateTable(tb.Context(), &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: pk, KeyType: types.KeyTypeHash}, {AttributeName: sk, KeyType: types.KeyTypeRange}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: pk, AttributeType: text}, {AttributeName: sk, AttributeType: text}},
		StreamSpecification:  &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewImage},
	})
	if err != nil {
		tb.Fatalf("create a table: %v", err)
	}
	deleteAfter(tb, client, name)
	return name, aws.ToString(made.TableDescription.LatestStreamArn)
}
