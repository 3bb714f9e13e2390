package dynamo

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/settings/account"
)

func brandKey(tenant string) Item { return Item{"pk": tenantKey(tenant)["pk"], "sk": text("BRAND")} }

// Brand returns the brand of a tenant, with the tenant's name. A tenant without a brand has
// revision 0.
func (s *SettingStore) Brand(ctx context.Context, tenant string) (account.Brand, error) {
	rows, err := s.campaignRows(ctx, map[string]Item{"tenant": tenantKey(tenant), "brand": brandKey(tenant)})
	if err != nil {
		return account.Brand{}, fmt.Errorf("read the brand of tenant %s: %w", tenant, err)
	}
	return readBrand(rows["tenant"], rows["brand"]), nil
}

func readBrand(tenant, brand Item) account.Brand {
	return account.Brand{
		Tenant: getText(tenant, "name"), Sender: getText(brand, "sender"), Logo: getText(brand, "logo"),
		Revision: int(getNumber(brand, "revision")),
	}
}

// SaveBrand writes the revision after that of b. The error wraps campaign.ErrLostRace if that
// is not the stored one.
func (s *SettingStore) SaveBrand(ctx context.Context, tenant string, b account.Brand) error {
	row := brandKey(tenant)
	row["sender"], row["logo"], row["revision"] = text(b.Sender), text(b.Logo), number(b.Revision+1)
	in := &dynamodb.PutItemInput{TableName: &s.Campaigns, Item: row, ConditionExpression: aws.String("attribute_not_exists(pk)")}
	if b.Revision > 0 {
		in.ConditionExpression, in.ExpressionAttributeValues = aws.String("revision = :read"), Item{":read": number(b.Revision)}
	}
	_, err := s.Client.PutItem(ctx, in)
	held, err := conditionHeld(err, "save the brand of tenant "+tenant)
	if err == nil && !held {
		err = fmt.Errorf("save the brand of tenant %s: %w", tenant, campaign.ErrLostRace)
	}
	return err
}
