package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/intake/submission"
)

const approvalPrefix = "APPROVAL#"

func approvalRuleKey(tenant string) Item {
	return Item{"pk": tenantKey(tenant)["pk"], "sk": text("APPROVAL")}
}

func approvalKey(tenant, id string) Item {
	return Item{"pk": text("DRAFTS#" + tenant), "sk": text(approvalPrefix + id)}
}

// ApprovalFrom returns the number of recipients from which a campaign of the dashboard needs
// approval, 0 for never.
func (s *ApprovalStore) ApprovalFrom(ctx context.Context, tenant string) (int, error) {
	row, err := s.get(ctx, approvalRuleKey(tenant))
	if err != nil && !errors.Is(err, campaign.ErrNotFound) {
		return 0, fmt.Errorf("read when tenant %s needs approval: %w", tenant, err)
	}
	return int(getNumber(row, "from")), nil
}

// SaveApprovalFrom changes the number of recipients from which a campaign of the dashboard
// needs approval, 0 for never. The error wraps campaign.ErrLostRace if the stored number is
// neither was nor from.
func (s *ApprovalStore) SaveApprovalFrom(ctx context.Context, tenant string, was, from int) error {
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

// Approvals returns a tenant's requests for approval, ordered by campaign ID.
func (s *ApprovalStore) Approvals(ctx context.Context, tenant string) ([]campaign.Approval, error) {
	return list(ctx, &s.table, "DRAFTS#"+tenant, approvalPrefix, func(id string, row Item) campaign.Approval {
		return readApproval(tenant, id, row)
	})
}

// Approval returns a request. The error wraps campaign.ErrNotFound if it does not exist.
func (s *ApprovalStore) Approval(ctx context.Context, tenant, id string) (campaign.Approval, error) {
	row, err := s.get(ctx, approvalKey(tenant, id))
	if err != nil {
		return campaign.Approval{}, fmt.Errorf("read the request for approval of campaign %s: %w", id, err)
	}
	return readApproval(tenant, id, row), nil
}

// AskApproval writes a new request, or keeps the existing one of the campaign.
func (s *ApprovalStore) AskApproval(ctx context.Context, a campaign.Approval) error {
	_, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &s.Campaigns, Item: approvalRow(a), ConditionExpression: aws.String("attribute_not_exists(pk)"),
	})
	_, err = conditionHeld(err, "ask for the approval of campaign "+a.CampaignID)
	return err
}

// SaveApproval replaces a request if its stored state is was. The error wraps
// campaign.ErrLostRace if it is another one. A repeated write of the same decision succeeds.
func (s *ApprovalStore) SaveApproval(ctx context.Context, a campaign.Approval, was campaign.ApprovalState) error {
	_, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &s.Campaigns, Item: approvalRow(a), ConditionExpression: aws.String("#state = :was"),
		ExpressionAttributeNames:            map[string]string{"#state": "state"},
		ExpressionAttributeValues:           Item{":was": text(string(was))},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		err = campaign.ErrLostRace
		there := readApproval(a.Tenant, a.CampaignID, failed.Item)
		if there.State == a.State && there.DecidedBy == a.DecidedBy && there.DecidedAt.Equal(a.DecidedAt) { // a repeated call of the SDK
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("save the approval of campaign %s: %w", a.CampaignID, err)
	}
	return nil
}

func approvalRow(a campaign.Approval) Item {
	row := approvalKey(a.Tenant, a.CampaignID)
	for name, value := range map[string]string{
		"name": a.Name, "templateId": a.TemplateID, "schedule": a.Schedule, "notAfter": a.NotAfter, "fileName": a.FileName, "hash": a.Hash,
		"draft": a.Draft, "by": a.By, "state": string(a.State), "decidedBy": a.DecidedBy, "reason": a.Reason,
	} {
		row[name] = text(value)
	}
	row["templateVersion"], row["people"], row["draftVersion"] = number(a.TemplateVersion), number(a.People), number(a.DraftVersion)
	row["at"] = millis(a.At)
	if a.Import {
		row["import"] = boolean(true)
	}
	if !a.DecidedAt.IsZero() {
		row["decidedAt"] = millis(a.DecidedAt)
	}
	life := campaign.DraftLife
	if a.Import && a.State == campaign.ApprovalWaiting { // it ends with the submission
		life = submission.Life
	}
	end := a.At.Add(life)
	if due, err := localtime.Parse(a.Schedule); err == nil && due.Add(life).After(end) { // its campaign can be rescheduled until then
		end = due.Add(life)
	}
	setEnd(row, end)
	return row
}

func readApproval(tenant, id string, row Item) campaign.Approval {
	return campaign.Approval{
		Tenant: tenant, CampaignID: id, Name: getText(row, "name"), TemplateID: getText(row, "templateId"),
		TemplateVersion: int(getNumber(row, "templateVersion")), Schedule: getText(row, "schedule"), NotAfter: getText(row, "notAfter"),
		FileName: getText(row, "fileName"), Hash: getText(row, "hash"), People: int(getNumber(row, "people")), Draft: getText(row, "draft"),
		DraftVersion: int(getNumber(row, "draftVersion")),
		By:           getText(row, "by"), At: getMillis(row, "at"), State: campaign.ApprovalState(getText(row, "state")),
		DecidedBy: getText(row, "decidedBy"), DecidedAt: getMillis(row, "decidedAt"), Reason: getText(row, "reason"),
		Import: getBool(row, "import"),
	}
}
