package dynamo

import (
	"context"
	"crypto/rand"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/campaign"
)

// UseForm marks a form token of a tenant as used and reports whether it was unused.
func (s *AuditStore) UseForm(ctx context.Context, tenant, token string) (bool, error) {
	row := Item{"pk": text("FORM#" + tenant), "sk": text(campaign.Digest(token))}
	row[TTL] = number(s.Now().Add(campaign.FormLife).Unix())
	// The SDK repeats puts without a response. This value identifies the own put.
	use := text(rand.Text())
	row["use"] = use
	_, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &s.Campaigns, Item: row,
		ConditionExpression:       aws.String("attribute_not_exists(pk) OR #use = :use"),
		ExpressionAttributeNames:  map[string]string{"#use": "use"},
		ExpressionAttributeValues: Item{":use": use},
	})
	return conditionHeld(err, "use form token")
}
