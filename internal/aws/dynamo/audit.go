package dynamo

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/campaign"
)

// auditKey is the row of an entry of a tenant's audit log; place is its instant in
// nanoseconds since 1970, in as many digits as every one has until the year 2286.
func auditKey(tenant, place string) Item {
	return Item{"pk": text("AUDIT#" + tenant), "sk": text(place)}
}

// Audit keeps an entry of its tenant's audit log.
func (s *Store) Audit(ctx context.Context, e campaign.AuditEntry) error {
	const tries = 10 // as many entries may have the same instant
	for i := range tries {
		err := s.putAuditEntry(ctx, e, e.At.UnixNano()+int64(i))
		if _, taken := errors.AsType[*types.ConditionalCheckFailedException](err); taken {
			continue
		}
		if err != nil {
			return fmt.Errorf("write the audit log: %w", err)
		}
		return nil
	}
	return errors.New("write the audit log: too many entries of one instant")
}

func (s *Store) putAuditEntry(ctx context.Context, e campaign.AuditEntry, nanos int64) error {
	row := auditKey(e.Tenant, strconv.FormatInt(nanos, 10))
	row["who"], row["action"], row["subject"] = text(e.Who), text(e.Action), text(e.Subject)
	if len(e.Details) > 0 {
		row["details"] = text(strings.Join(e.Details, ","))
	}
	row["at"], row[TTL] = millis(e.At), number(e.At.Add(campaign.AuditLife).Unix())
	_, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &s.Campaigns, Item: row, ConditionExpression: aws.String("attribute_not_exists(pk)"),
	})
	return err
}

// AuditLog returns up to limit entries of a tenant's audit log, newest first: the
// last ones, or those older than where an answer before this one ended. Next is
// where this one ends, "" for the end of the log.
func (s *Store) AuditLog(ctx context.Context, tenant, older string, limit int) (entries []campaign.AuditEntry, next string, err error) {
	in := &dynamodb.QueryInput{
		TableName: &s.Campaigns, KeyConditionExpression: aws.String("pk = :log"), ScanIndexForward: aws.Bool(false),
		ExpressionAttributeValues: Item{":log": auditKey(tenant, "")["pk"]}, Limit: aws.Int32(int32(limit)), //nolint:gosec // a page's length
	}
	if older != "" {
		in.ExclusiveStartKey = auditKey(tenant, older)
	}
	out, err := s.Client.Query(ctx, in)
	if err != nil {
		return nil, "", fmt.Errorf("read the audit log: %w", err)
	}
	for _, row := range s.live(out.Items) {
		e := campaign.AuditEntry{
			Tenant: tenant, At: getMillis(row, "at"), Who: getText(row, "who"),
			Action: getText(row, "action"), Subject: getText(row, "subject"),
		}
		if details := getText(row, "details"); details != "" {
			e.Details = strings.Split(details, ",")
		}
		entries = append(entries, e)
	}
	return entries, getText(out.LastEvaluatedKey, "sk"), nil
}
