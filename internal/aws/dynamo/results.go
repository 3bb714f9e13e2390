package dynamo

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/campaign"
)

// Results returns the stored results of up to 50 campaigns by ID.
func (s *CampaignStore) Results(ctx context.Context, tenant string, campaignIDs []string) (map[string]campaign.Results, error) {
	results := map[string]campaign.Results{}
	if len(campaignIDs) == 0 {
		return results, nil
	}
	keys := map[string]Item{}
	for _, id := range campaignIDs {
		keys[id] = resultsKey(campaign.ID{Tenant: tenant, CampaignID: id})
	}
	rows, err := s.campaignRows(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("read the results of %d campaigns: %w", len(campaignIDs), err)
	}
	for id, row := range rows {
		results[id] = readResults(row)
	}
	return results, nil
}

// KeepResults stores results, unless newer ones are stored. It stores none of a campaign
// without batches.
func (s *CampaignStore) KeepResults(ctx context.Context, id campaign.ID, r campaign.Results) error {
	if r.ExpiresAt.IsZero() {
		return nil
	}
	_, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &s.Campaigns, Item: resultsRow(id, r), ConditionExpression: aws.String("attribute_not_exists(pk) OR readAt < :at"),
		ExpressionAttributeValues: Item{":at": millis(r.At)},
	})
	_, err = conditionHeld(err, "store the results of campaign "+id.CampaignID)
	return err
}

// resultNumbers are the numbers of results by attribute.
func resultNumbers(r *campaign.Results) map[string]*int {
	return map[string]*int{
		"batches": &r.Batches, "moves": &r.Moves, "templates": &r.Templates, "accepted": &r.Accepted, "sent": &r.Sent,
		"delivered": &r.Delivered, "read": &r.Read, "lost": &r.Lost, "optedOut": &r.OptedOut, "tapped": &r.Tapped, "clicked": &r.Clicked,
		"waiting": &r.Waiting, "stopped": &r.Stopped, "notAccepted": &r.NotAccepted, "neverAccepted": &r.NeverAccepted,
	}
}

func resultsRow(id campaign.ID, r campaign.Results) Item {
	row := resultsKey(id)
	row["status"], row["templateId"] = text(string(r.Status)), text(r.TemplateID)
	row["readAt"], row["cancelledAt"], row["first"], row["last"] = millis(r.At), millis(r.CancelledAt), millis(r.First), millis(r.Last)
	row["next"], row["stalled"] = millis(r.Next), boolean(r.Stalled)
	row["tappable"], row["clickable"] = boolean(r.Tappable), boolean(r.Clickable)
	for name, n := range resultNumbers(&r) {
		row[name] = number(*n)
	}
	setEnd(row, r.ExpiresAt)
	return row
}

func readResults(row Item) campaign.Results {
	r := campaign.Results{
		Status: campaign.Status(getText(row, "status")), TemplateID: getText(row, "templateId"),
		At: getMillis(row, "readAt"), CancelledAt: getMillis(row, "cancelledAt"), First: getMillis(row, "first"), Last: getMillis(row, "last"),
		Next: getMillis(row, "next"), Stalled: getBool(row, "stalled"),
		Tappable: getBool(row, "tappable"), Clickable: getBool(row, "clickable"), ExpiresAt: getEnd(row),
	}
	for name, n := range resultNumbers(&r) {
		*n = int(getNumber(row, name))
	}
	return r
}
