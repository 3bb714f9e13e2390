package wronghands

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/campaign"
)

// forgetFailures deletes the count of failed token requests of this machine. The
// emulator gives all callers one address, and a 429 would hide how a request differs.
func (w *World) forgetFailures(ctx context.Context) error {
	const address = "failures 127.0.0.1" // see package oauth
	_, err := dynamodb.NewFromConfig(w.env.AWS()).DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: aws.String(w.env["AUTH_TABLE"]),
		Key:       map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "RATE#" + campaign.Digest(address)}},
	})
	if err != nil {
		return fmt.Errorf("forget the failures of this address: %w", err)
	}
	return nil
}
