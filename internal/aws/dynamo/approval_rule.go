package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/campaign"
)

func approvalRuleKey(tenant string) Item {
	return Item{"pk": tenantKey(tenant)["pk"], "sk": text("APPROVAL")}
}

// ApprovalFrom returns the number of recipients from which a campaign of the dashboard needs
// approval, 0 for never.
func (s *TenantStore) ApprovalFrom(ctx context.Context, tenant string) (int, error) {
	row, err := s.get(ctx, approvalRuleKey(tenant))
	if err != nil && !errors.Is(err, campaign.ErrNotFound) {
		return 0, fmt.Errorf("read when tenant %s needs approval: %w", tenant, err)
	}
	return int(getNumber(row, "from")), nil
}

// SaveApprovalFrom changes the number of recipients from which a campaign of the dashboard
// needs approval, 0 for never. The error wraps campaign.ErrLostRace if the stored number is
// neither was nor from.
func (s *TenantStore) SaveApprovalFrom(ctx context.Context, tenant string, was, from int) error {
	row := approvalRuleKey(tenant)
	row["from"] = number(from)
	_, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &s.Campaigns, Item: row,
		ConditionExpression:       aws.String("#from IN (:was, :from) OR (attribute_not_exists(pk) AND :was = :never)"),
		ExpressionAttributeNames:  map[string]string{"#from": "from"},
		ExpressionAttributeValues: Item{":was": number(was), ":from": number(from), ":never": number(0)},
	})
	held, err := conditionHeld(err, "save when tenant "+tenant+" needs approval")
	if err == nil && !held {
		err = fmt.Errorf("save when tenant %s needs approval: %w", tenant, campaign.ErrLostRace)
	}
	return err
}
