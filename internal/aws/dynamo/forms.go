package dynamo

import (
	"context"
	"crypto/rand"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/campaign"
)

// UseForm uses up a form of a tenant by its token, and reports whether it had not
// been used before.
func (s *Store) UseForm(ctx context.Context, tenant, token string) (bool, error) {
	row := Item{"pk": text("FORM#" + tenant), "sk": text(campaign.Digest(token))}
	row[TTL] = number(s.Now().Add(campaign.FormLife).Unix())
	// The SDK repeats a put whose answer was lost: it knows its own by this.
	use := text(rand.Text())
	row["use"] = use
	_, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &s.Campaigns, Item: row,
		ConditionExpression:       aws.String("attribute_not_exists(pk) OR #use = :use"),
		ExpressionAttributeNames:  map[string]string{"#use": "use"},
		ExpressionAttributeValues: Item{":use": use},
	})
	return held(err, "use a form")
}
