package dynamo

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/campaign"
)

const importPrefix = "IMPORT#"

func importKey(id campaign.ID) Item {
	return Item{"pk": text("IMPORTS#" + id.Tenant), "sk": text(importPrefix + id.CampaignID)}
}

// columnsKey is the row of the columns that a tenant has confirmed.
func columnsKey(tenant string) Item {
	return Item{"pk": text("IMPORTS#" + tenant), "sk": text("COLUMNS")}
}

// Imports returns a tenant's imports, ordered by ID.
func (s *ImportStore) Imports(ctx context.Context, tenant string) ([]campaign.Import, error) {
	var damaged error
	all, err := list(ctx, &s.table, "IMPORTS#"+tenant, importPrefix, func(id string, row Item) campaign.Import {
		i, err := readImport(campaign.ID{Tenant: tenant, CampaignID: id}, row)
		if err != nil {
			damaged = err
		}
		return i
	})
	if err != nil {
		return nil, err
	}
	return all, damaged
}

// Import returns an import. The error wraps campaign.ErrNotFound if it does not exist.
func (s *ImportStore) Import(ctx context.Context, id campaign.ID) (campaign.Import, error) {
	row, err := s.get(ctx, importKey(id))
	if err != nil {
		return campaign.Import{}, fmt.Errorf("read import %s: %w", id.CampaignID, err)
	}
	return readImport(id, row)
}

// SaveImport writes the next version of an import if i.Version is the stored one, 0 for a new
// import, and returns it. The error wraps campaign.ErrLostRace otherwise.
func (s *ImportStore) SaveImport(ctx context.Context, i campaign.Import) (campaign.Import, error) {
	was := i.Version
	i.Version, i.UpdatedAt = was+1, s.Now()
	data, err := json.Marshal(i)
	if err != nil {
		return i, fmt.Errorf("encode import %s: %w", i.CampaignID, err)
	}
	row := importKey(i.ID)
	row["data"], row["version"] = bytesOf(data), number(i.Version)
	row["write"] = text(rand.Text()) // the SDK repeats puts without a response
	setEnd(row, i.ExpiresAt())
	_, err = s.Client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &s.Campaigns, Item: row,
		ConditionExpression:       aws.String("version = :was OR (attribute_not_exists(pk) AND :was = :none) OR #write = :write"),
		ExpressionAttributeNames:  map[string]string{"#write": "write"},
		ExpressionAttributeValues: Item{":was": number(was), ":none": number(0), ":write": row["write"]},
	})
	held, err := conditionHeld(err, "save import "+i.CampaignID)
	if err == nil && !held {
		err = fmt.Errorf("save import %s: %w", i.CampaignID, campaign.ErrLostRace)
	}
	return i, err
}

func readImport(id campaign.ID, row Item) (campaign.Import, error) {
	var i campaign.Import
	if err := json.Unmarshal(getBinary(row, "data"), &i); err != nil {
		return i, fmt.Errorf("read import %s: %w", id.CampaignID, campaign.ErrDamaged)
	}
	i.ID, i.Version = id, int(getNumber(row, "version"))
	return i, nil
}

// KnownColumns returns the names of columns that the tenant has confirmed, by value: phone, uid
// or the name of a variable.
func (s *ImportStore) KnownColumns(ctx context.Context, tenant string) (map[string]string, error) {
	row, err := s.get(ctx, columnsKey(tenant))
	if err != nil && !errors.Is(err, campaign.ErrNotFound) {
		return nil, fmt.Errorf("read the columns of tenant %s: %w", tenant, err)
	}
	names := map[string]string{}
	if data := getBinary(row, "data"); len(data) > 0 {
		if err := json.Unmarshal(data, &names); err != nil {
			return nil, fmt.Errorf("read the columns of tenant %s: %w", tenant, campaign.ErrDamaged)
		}
	}
	return names, nil
}

// SaveKnownColumns replaces the names of columns that the tenant has confirmed.
func (s *ImportStore) SaveKnownColumns(ctx context.Context, tenant string, names map[string]string) error {
	data, err := json.Marshal(names)
	if err != nil {
		return fmt.Errorf("encode the columns of tenant %s: %w", tenant, err)
	}
	_, err = s.Client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.Campaigns, Item: withValue(columnsKey(tenant), "data", bytesOf(data))})
	if err != nil {
		return fmt.Errorf("save the columns of tenant %s: %w", tenant, err)
	}
	return nil
}
