package dynamo

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/settings/account"
)

const submissionPrefix = "SUBMISSION#"

// submissionsPrefix begins the partition keys.
const submissionsPrefix = "SUBMISSIONS#"

func submissionKey(id campaign.ID) Item {
	return Item{"pk": text(submissionsPrefix + id.Tenant), "sk": text(submissionPrefix + id.CampaignID)}
}

// submissionOf returns the ID of a submission's row, false for other rows.
func submissionOf(row Item) (id campaign.ID, ok bool) {
	tenant, ofTenant := strings.CutPrefix(getText(row, "pk"), submissionsPrefix)
	campaignID, isSubmission := strings.CutPrefix(getText(row, "sk"), submissionPrefix)
	return campaign.ID{Tenant: tenant, CampaignID: campaignID}, ofTenant && isSubmission
}

// columnsKey is the row of the columns that a tenant has confirmed.
func columnsKey(tenant string) Item {
	return Item{"pk": text(submissionsPrefix + tenant), "sk": text("COLUMNS")}
}

// Submissions returns a tenant's submissions, ordered by ID.
func (s *SubmissionStore) Submissions(ctx context.Context, tenant string) ([]submission.Submission, error) {
	var damaged error
	all, err := list(ctx, &s.table, submissionsPrefix+tenant, submissionPrefix, func(id string, row Item) submission.Submission {
		sub, err := readSubmission(campaign.ID{Tenant: tenant, CampaignID: id}, row)
		if err != nil {
			damaged = err
		}
		return sub
	})
	if err != nil {
		return nil, err
	}
	return all, damaged
}

// Submission returns a submission. The error wraps campaign.ErrNotFound if it does not exist.
func (s *SubmissionStore) Submission(ctx context.Context, id campaign.ID) (submission.Submission, error) {
	row, err := s.get(ctx, submissionKey(id))
	if err != nil {
		return submission.Submission{}, fmt.Errorf("read submission %s: %w", id.CampaignID, err)
	}
	return readSubmission(id, row)
}

// SaveSubmission writes the next version of a submission if sub.Version is the stored one, 0 for
// a new submission, and returns it. The error wraps campaign.ErrLostRace otherwise. No other write
// changes a submission.
func (s *SubmissionStore) SaveSubmission(ctx context.Context, sub submission.Submission) (submission.Submission, error) {
	sub, put, err := s.submissionPut(sub)
	if err != nil {
		return sub, err
	}
	_, err = s.Client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: put.TableName, Item: put.Item, ConditionExpression: put.ConditionExpression,
		ExpressionAttributeNames: put.ExpressionAttributeNames, ExpressionAttributeValues: put.ExpressionAttributeValues,
	})
	held, err := conditionHeld(err, "save submission "+sub.CampaignID)
	if err == nil && !held {
		err = fmt.Errorf("save submission %s: %w", sub.CampaignID, campaign.ErrLostRace)
	}
	return sub, err
}

// SaveDecision is SaveSubmission with an entry of the audit log: both are written, or nothing.
func (s *SubmissionStore) SaveDecision(ctx context.Context, sub submission.Submission, e account.AuditEntry) (submission.Submission, error) {
	sub, put, err := s.submissionPut(sub)
	if err != nil {
		return sub, err
	}
	const tries = 10 // entries with the same time
	for i := range tries {
		reasons, err := s.transact(ctx, []types.TransactWriteItem{{Put: put}, s.auditWrite(e, i)}, rand.Text())
		switch {
		case err != nil:
			return sub, fmt.Errorf("save the decision about submission %s: %w", sub.CampaignID, err)
		case len(reasons) == 0:
			return sub, nil
		case aws.ToString(reasons[0].Code) != reasonNone:
			return sub, fmt.Errorf("save the decision about submission %s: %w", sub.CampaignID, campaign.ErrLostRace)
		}
	}
	return sub, errors.New("write audit log: too many entries with the same time")
}

// submissionPut returns the next version of a submission, and its write.
func (s *SubmissionStore) submissionPut(sub submission.Submission) (submission.Submission, *types.Put, error) {
	was := sub.Version
	sub.Version, sub.UpdatedAt = was+1, s.Now()
	data, err := json.Marshal(sub)
	if err != nil {
		return sub, nil, fmt.Errorf("encode submission %s: %w", sub.CampaignID, err)
	}
	row := submissionKey(sub.ID)
	row["data"], row["version"] = bytesOf(data), number(sub.Version)
	if next := sub.NextCheck(sub.UpdatedAt); !next.IsZero() {
		row["due"], row["nextCheck"] = text(s.dueShard(campaign.BatchRef{ID: sub.ID})), millis(next)
	}
	row["write"] = text(rand.Text()) // the SDK repeats puts without a response
	setEnd(row, sub.ExpiresAt())
	return sub, &types.Put{
		TableName: &s.Campaigns, Item: row,
		ConditionExpression:       aws.String("version = :was OR (attribute_not_exists(pk) AND :was = :none) OR #write = :write"),
		ExpressionAttributeNames:  map[string]string{"#write": "write"},
		ExpressionAttributeValues: Item{":was": number(was), ":none": number(0), ":write": row["write"]},
	}, nil
}

func readSubmission(id campaign.ID, row Item) (submission.Submission, error) {
	var sub submission.Submission
	if err := json.Unmarshal(getBinary(row, "data"), &sub); err != nil {
		return sub, fmt.Errorf("read submission %s: %w", id.CampaignID, campaign.ErrDamaged)
	}
	sub.ID, sub.Version = id, int(getNumber(row, "version"))
	return sub, nil
}

// KnownColumns returns the names of columns that the tenant has confirmed, by value: phone, uid
// or the name of a variable.
func (s *SubmissionStore) KnownColumns(ctx context.Context, tenant string) (map[string]string, error) {
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
func (s *SubmissionStore) SaveKnownColumns(ctx context.Context, tenant string, names map[string]string) error {
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
