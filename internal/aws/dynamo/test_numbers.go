package dynamo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/settings/account"
)

func testNumbersKey(tenant string) Item {
	return Item{"pk": tenantKey(tenant)["pk"], "sk": text("TESTNUMBERS")}
}

// TestNumbers returns the saved numbers for tests of a tenant.
func (s *SettingStore) TestNumbers(ctx context.Context, tenant string) (n account.TestNumbers, err error) {
	row, err := s.get(ctx, testNumbersKey(tenant))
	if errors.Is(err, campaign.ErrNotFound) {
		return n, nil
	}
	if err != nil {
		return n, fmt.Errorf("read the test numbers of tenant %s: %w", tenant, err)
	}
	if json.Unmarshal(getBinary(row, "data"), &n.All) != nil { // its error could have a number
		return n, fmt.Errorf("read the test numbers of tenant %s: %w", tenant, campaign.ErrDamaged)
	}
	n.Revision = int(getNumber(row, "revision"))
	return n, nil
}

// SaveTestNumbers writes the revision after that of n. The error wraps campaign.ErrLostRace if
// that is not the stored one.
func (s *SettingStore) SaveTestNumbers(ctx context.Context, tenant string, n account.TestNumbers) error {
	data, err := json.Marshal(n.All)
	if err != nil {
		return fmt.Errorf("encode the test numbers of tenant %s: %w", tenant, err)
	}
	row := testNumbersKey(tenant)
	row["data"], row["revision"] = bytesOf(data), number(n.Revision+1)
	in := &dynamodb.PutItemInput{TableName: &s.Campaigns, Item: row, ConditionExpression: aws.String("attribute_not_exists(pk)")}
	if n.Revision > 0 {
		in.ConditionExpression, in.ExpressionAttributeValues = aws.String("revision = :read"), Item{":read": number(n.Revision)}
	}
	_, err = s.Client.PutItem(ctx, in)
	held, err := conditionHeld(err, "save the test numbers of tenant "+tenant)
	if err == nil && !held {
		err = fmt.Errorf("save the test numbers of tenant %s: %w", tenant, campaign.ErrLostRace)
	}
	return err
}
