package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/campaign"
)

// totalsAttributes are the attributes of META that hold the totals of the campaign's file.
var totalsAttributes = []string{
	"lines", "invalid", "faulty", "repeated", "people", "erasedOfParts", "acceptedOfParts", "partsToCome", "partsUntil",
	"partsCheck", "parts", "partsDone",
}

// totalsNumbers are the numbers of totals by attribute.
func totalsNumbers(t *campaign.SubmissionTotals) map[string]*int {
	return map[string]*int{
		"lines": &t.Lines, "invalid": &t.Invalid, "faulty": &t.Faulty, "repeated": &t.Repeated, "people": &t.People,
		"erasedOfParts": &t.Erased, "acceptedOfParts": &t.Accepted, "partsToCome": &t.PartsToCome,
		"partsCheck": &t.Check, "parts": &t.Parts, "partsDone": &t.PartsDone,
	}
}

// totalsItem returns the attributes of totals, none for a campaign without a file.
func totalsItem(t campaign.SubmissionTotals) Item {
	if !t.Known() {
		return nil
	}
	row := Item{"partsUntil": millis(t.Until)}
	for name, n := range totalsNumbers(&t) {
		row[name] = number(*n)
	}
	return row
}

// readTotals returns the totals in a META row, as of now.
func (t *table) readTotals(meta Item) (totals campaign.SubmissionTotals) {
	for name, n := range totalsNumbers(&totals) {
		*n = int(getNumber(meta, name))
	}
	if !totals.Known() {
		return totals
	}
	totals.Until = getMillis(meta, "partsUntil")
	return totals.At(t.Now())
}

// takesPart is the condition of campaign.SubmissionTotals.Takes on the assigned totalsItem.
const takesPart = "(attribute_not_exists(partsToCome) OR partsToCome > :partsToCome)"

// SkipPart counts a part that erasures have left empty. totals are those after it. It can be
// repeated, and changes nothing before the first part is accepted.
func (s *SubmissionStore) SkipPart(ctx context.Context, id campaign.ID, totals campaign.SubmissionTotals) error {
	return s.updateTotals(ctx, id, "SET erasedOfParts = :erased, partsToCome = :left, partsDone = :done", Item{
		":erased": number(totals.Erased), ":left": number(totals.PartsToCome), ":done": number(totals.PartsDone),
	})
}

// EndParts ends the acceptance of parts: none is to come. It can be repeated. What it returns is zero
// if the campaign does not exist.
func (s *SubmissionStore) EndParts(ctx context.Context, id campaign.ID) (campaign.EndedParts, error) {
	if err := s.updateTotals(ctx, id, "SET partsToCome = :left", Item{":left": number(0)}); err != nil {
		return campaign.EndedParts{}, err
	}
	meta, err := s.get(ctx, metaKey(id))
	if err != nil && !errors.Is(err, campaign.ErrNotFound) {
		return campaign.EndedParts{}, fmt.Errorf("read the totals of campaign %s: %w", id.CampaignID, err)
	}
	return campaign.EndedParts{SubmissionTotals: s.readTotals(meta), CreatedAt: getMillis(meta, "createdAt")}, nil
}

// updateTotals changes the totals of a campaign if it lowers the number of parts to come.
func (s *SubmissionStore) updateTotals(ctx context.Context, id campaign.ID, update string, values Item) error {
	_, err := s.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.Campaigns, Key: metaKey(id), UpdateExpression: &update,
		ConditionExpression: aws.String("partsToCome > :left AND " + notForgetting), ExpressionAttributeValues: values,
	})
	_, err = conditionHeld(err, "change the totals of campaign "+id.CampaignID)
	return err
}
