package dynamo

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/campaign"
)

const draftPrefix = "DRAFT#"

func draftKey(tenant, id string) Item {
	return Item{"pk": text("DRAFTS#" + tenant), "sk": text(draftPrefix + id)}
}

// Drafts returns a tenant's drafts, ordered by ID.
func (s *DraftStore) Drafts(ctx context.Context, tenant string) ([]campaign.Draft, error) {
	return list(ctx, &s.table, "DRAFTS#"+tenant, draftPrefix, func(id string, row Item) campaign.Draft {
		return readDraft(tenant, id, row)
	})
}

// Draft returns a draft. The error wraps campaign.ErrNotFound if it does not exist.
func (s *DraftStore) Draft(ctx context.Context, tenant, id string) (campaign.Draft, error) {
	row, err := s.get(ctx, draftKey(tenant, id))
	if err != nil {
		return campaign.Draft{}, fmt.Errorf("read draft %s: %w", id, err)
	}
	return readDraft(tenant, id, row), nil
}

// SaveDraft writes the next version of a draft if d.Version is the stored one, 0 for a new
// draft. The error wraps campaign.ErrLostRace otherwise.
func (s *DraftStore) SaveDraft(ctx context.Context, d campaign.Draft) error {
	row := draftKey(d.Tenant, d.ID)
	for name, value := range map[string]string{
		"name": d.Name, "templateId": d.TemplateID, "schedule": d.Schedule, "notAfter": d.NotAfter, "fileName": d.FileName, "who": d.Who,
		"file": d.File,
	} {
		row[name] = text(value)
	}
	row["updatedAt"], row["version"] = millis(d.UpdatedAt), number(d.Version+1)
	row["write"] = text(rand.Text()) // the SDK repeats puts without a response
	setEnd(row, d.UpdatedAt.Add(campaign.DraftLife))
	_, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &s.Campaigns, Item: row,
		ConditionExpression:       aws.String("version = :was OR (attribute_not_exists(pk) AND :was = :none) OR #write = :write"),
		ExpressionAttributeNames:  map[string]string{"#write": "write"},
		ExpressionAttributeValues: Item{":was": number(d.Version), ":none": number(0), ":write": row["write"]},
	})
	held, err := conditionHeld(err, "save draft "+d.ID)
	if err == nil && !held {
		err = fmt.Errorf("save draft %s: %w", d.ID, campaign.ErrLostRace)
	}
	return err
}

// DeleteDraft deletes a draft if d.Version is the stored one. It reports whether it did.
func (s *DraftStore) DeleteDraft(ctx context.Context, d campaign.Draft) (bool, error) {
	_, err := s.Client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &s.Campaigns, Key: draftKey(d.Tenant, d.ID), ConditionExpression: aws.String("version = :version"),
		ExpressionAttributeValues: Item{":version": number(d.Version)},
	})
	return conditionHeld(err, "delete draft "+d.ID)
}

func readDraft(tenant, id string, row Item) campaign.Draft {
	return campaign.Draft{
		Tenant: tenant, ID: id, Name: getText(row, "name"), TemplateID: getText(row, "templateId"),
		Schedule: getText(row, "schedule"), NotAfter: getText(row, "notAfter"), FileName: getText(row, "fileName"),
		Who: getText(row, "who"), UpdatedAt: getMillis(row, "updatedAt"), Version: int(getNumber(row, "version")),
		File: getText(row, "file"),
	}
}
