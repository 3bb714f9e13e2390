package dynamo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/settings/account"
)

// auditKey is the key of an audit log entry. place is the time in nanoseconds since 1970;
// until the year 2286, all have 19 digits.
func auditKey(tenant, place string) Item {
	return Item{"pk": text("AUDIT#" + tenant), "sk": text(place)}
}

// Audit writes an entry to its tenant's audit log.
func (s *AuditStore) Audit(ctx context.Context, e account.AuditEntry) error {
	const tries = 10 // entries with the same time
	for i := range tries {
		err := s.putAuditEntry(ctx, e, e.At.UnixNano()+int64(i))
		if _, taken := errors.AsType[*types.ConditionalCheckFailedException](err); taken {
			continue
		}
		if err != nil {
			return fmt.Errorf("write audit log: %w", err)
		}
		return nil
	}
	return errors.New("write audit log: too many entries with the same time")
}

func (s *AuditStore) putAuditEntry(ctx context.Context, e account.AuditEntry, nanos int64) error {
	_, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &s.Campaigns, Item: auditRow(e, nanos), ConditionExpression: aws.String("attribute_not_exists(pk)"),
	})
	return err
}

// doubleClick is the period in which the same entry of a person comes from the same form.
const doubleClick = 2 * time.Second

// AuditForm writes an entry to its tenant's audit log, unless the same one was written in the
// last two seconds: a double click sends a form twice.
func (s *AuditStore) AuditForm(ctx context.Context, e account.AuditEntry) error {
	const tries = 10 // entries with the same time
	for i := range tries {
		reasons, err := s.transact(ctx, []types.TransactWriteItem{
			s.lastEntryWrite(e), s.auditWrite(e, i),
		}, rand.Text())
		if err != nil {
			return fmt.Errorf("write audit log: %w", err)
		}
		if len(reasons) == 0 || aws.ToString(reasons[0].Code) == reasonCondition { // written, or a repetition
			return nil
		}
	}
	return errors.New("write audit log: too many entries with the same time")
}

// auditWrite writes a new entry, some nanoseconds after its time.
func (t *table) auditWrite(e account.AuditEntry, later int) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{
		TableName: &t.Campaigns, Item: auditRow(e, e.At.UnixNano()+int64(later)), ConditionExpression: aws.String("attribute_not_exists(pk)"),
	}}
}

// lastEntryWrite writes the time of an entry, unless the same entry is recent.
func (s *AuditStore) lastEntryWrite(e account.AuditEntry) types.TransactWriteItem {
	entry := strings.Join(append([]string{"audit", e.Who, e.Action, e.Subject, e.Link}, e.Details...), "\x00")
	row := Item{"pk": text("FORM#" + e.Tenant), "sk": text(campaign.Digest(entry)), "at": millis(e.At)}
	row[TTL] = number(s.Now().Add(campaign.FormLife).Unix())
	return types.TransactWriteItem{Put: &types.Put{
		TableName: &s.Campaigns, Item: row, ConditionExpression: aws.String("attribute_not_exists(pk) OR #at < :before"),
		ExpressionAttributeNames: map[string]string{"#at": "at"}, ExpressionAttributeValues: Item{":before": millis(e.At.Add(-doubleClick))},
	}}
}

func auditRow(e account.AuditEntry, nanos int64) Item {
	row := auditKey(e.Tenant, strconv.FormatInt(nanos, 10))
	row["who"], row["action"], row["subject"] = text(e.Who), text(e.Action), text(e.Subject)
	if len(e.Details) > 0 {
		row["details"] = text(strings.Join(e.Details, ","))
	}
	if e.Link != "" {
		row["link"] = text(e.Link)
	}
	row["at"], row[TTL] = millis(e.At), number(e.At.Add(campaign.AuditLife).Unix())
	return row
}

// AuditLog returns up to limit entries of a tenant's audit log, newest first. older is the
// next of the previous page, "" for the first page. next is "" after the last page.
func (s *AuditStore) AuditLog(ctx context.Context, tenant, older string, limit int) (entries []account.AuditEntry, next string, err error) {
	in := &dynamodb.QueryInput{
		TableName: &s.Campaigns, KeyConditionExpression: aws.String("pk = :log"), ScanIndexForward: aws.Bool(false),
		ExpressionAttributeValues: Item{":log": auditKey(tenant, "")["pk"]}, Limit: aws.Int32(int32(limit)), //nolint:gosec // a page's length
	}
	if older != "" {
		in.ExclusiveStartKey = auditKey(tenant, older)
	}
	out, err := s.Client.Query(ctx, in)
	if err != nil {
		return nil, "", fmt.Errorf("read audit log: %w", err)
	}
	for _, row := range s.unexpiredRows(out.Items) {
		e := account.AuditEntry{
			Tenant: tenant, At: getMillis(row, "at"), Who: getText(row, "who"),
			Action: getText(row, "action"), Subject: getText(row, "subject"), Link: getText(row, "link"), Cursor: getText(row, "sk"),
		}
		if details := getText(row, "details"); details != "" {
			e.Details = strings.Split(details, ",")
		}
		entries = append(entries, e)
	}
	return entries, getText(out.LastEvaluatedKey, "sk"), nil
}
