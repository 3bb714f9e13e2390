package dynamo

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/webhook/delivery"
)

const (
	// Sortable time formats.
	hourForm    = "2006-01-02T15"
	failureForm = "2006-01-02T15:04:05.000Z"
)

// Attribute name prefixes of a tenant's hourly post counts, followed by the endpoint ID.
const (
	takenPrefix  = "taken#"
	failedPrefix = "failed#"
)

// AddPosts adds posts to the hourly counts of a tenant's endpoints, by endpoint ID, with
// one write.
func (s *DayStore) AddPosts(ctx context.Context, tenant string, at time.Time, posts map[string]delivery.PostCount) error {
	names, values, add := map[string]string{"#ttl": TTL}, Item{":ttl": number(at.Truncate(time.Hour).Add(campaign.PostsLife).Unix())}, []string{}
	count := func(name string, n int) {
		if n > 0 {
			i := strconv.Itoa(len(add))
			names["#n"+i], values[":n"+i] = name, number(n)
			add = append(add, "#n"+i+" :n"+i)
		}
	}
	for id, p := range posts {
		count(takenPrefix+id, p.Accepted)
		count(failedPrefix+id, p.Failed)
	}
	if len(add) == 0 {
		return nil
	}
	_, err := s.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.Webhooks, Key: Item{"pk": text(tenantPostsPK(tenant)), "sk": text(at.UTC().Format(hourForm))},
		UpdateExpression:         aws.String("ADD " + strings.Join(add, ", ") + " SET #ttl = :ttl"),
		ExpressionAttributeNames: names, ExpressionAttributeValues: values,
	})
	if err != nil {
		return fmt.Errorf("count the posts of tenant %s: %w", tenant, err)
	}
	return nil
}

func tenantPostsPK(tenant string) string { return "STATS#" + tenant }

// HourlyPosts returns the posts to an endpoint per hour since an instant, in order. Hours
// without posts are omitted.
func (s *DayStore) HourlyPosts(ctx context.Context, tenant, endpointID string, since time.Time) ([]delivery.HourlyPosts, error) {
	rows, err := s.queryIn(ctx, s.Webhooks, "pk = :pk AND sk >= :since", Item{
		":pk": text(tenantPostsPK(tenant)), ":since": text(since.UTC().Format(hourForm)),
	})
	if err != nil {
		return nil, fmt.Errorf("read the posts to endpoint %s: %w", endpointID, err)
	}
	posts := make([]delivery.HourlyPosts, 0, len(rows))
	for _, row := range rows {
		hour, _ := time.Parse(hourForm, getText(row, "sk")) // in the format of the key
		p := delivery.HourlyPosts{Hour: hour, Accepted: int(getNumber(row, takenPrefix+endpointID)), Failed: int(getNumber(row, failedPrefix+endpointID))}
		if p.Accepted+p.Failed > 0 {
			posts = append(posts, p)
		}
	}
	return posts, nil
}

// RecordFailure records a failed webhook.
func (s *FailureStore) RecordFailure(ctx context.Context, f delivery.Failure) error {
	row := failureKey(f)
	row["kind"], row["messageId"], row["status"] = text(string(f.Kind)), text(f.MessageID), number(f.Status)
	row["code"], row["attempt"] = text(f.Code), number(f.Attempt)
	row["deliveryId"], row["blob"] = text(f.Task.DeliveryID), text(f.Blob)
	if len(f.Entry) > 0 {
		row["entry"] = bytesOf(f.Entry)
	}
	if took := int(f.Took.Milliseconds()); took > 0 {
		row["took"] = number(took)
	}
	if f.Kept {
		row["kept"] = boolean(true)
	}
	row[TTL] = number(f.At.Add(campaign.FailureLife).Unix())
	_, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.Webhooks, Item: row})
	if err != nil {
		return fmt.Errorf("record a failure of endpoint %s: %w", f.EndpointID, err)
	}
	return nil
}

func failureKey(f delivery.Failure) Item {
	return Item{"pk": text(failuresPK(f.Tenant, f.EndpointID)), "sk": text(f.At.UTC().Format(failureForm) + "#" + f.WebhookID)}
}

func failuresPK(tenant, endpointID string) string { return "FAILURES#" + tenant + "#" + endpointID }

// Failure reads the failure of a webhook at an instant. The error wraps
// campaign.ErrNotFound if it does not exist.
func (s *FailureStore) Failure(ctx context.Context, tenant, endpointID, webhookID string, at time.Time) (delivery.Failure, error) {
	key := failureKey(delivery.Failure{Tenant: tenant, EndpointID: endpointID, WebhookID: webhookID, At: at})
	row, err := s.getFrom(ctx, s.Webhooks, key)
	if err != nil {
		return delivery.Failure{}, fmt.Errorf("read a failure of endpoint %s: %w", endpointID, err)
	}
	return readFailure(tenant, endpointID, row), nil
}

// Failures returns up to limit failures of an endpoint, newest first.
func (s *FailureStore) Failures(ctx context.Context, tenant, endpointID string, limit int) ([]delivery.Failure, error) {
	out, err := s.Client.Query(ctx, &dynamodb.QueryInput{
		TableName: &s.Webhooks, ScanIndexForward: aws.Bool(false), Limit: aws.Int32(int32(limit)), //nolint:gosec // some hundreds
		KeyConditionExpression:    aws.String("pk = :pk"),
		ExpressionAttributeValues: Item{":pk": text(failuresPK(tenant, endpointID))},
	})
	if err != nil {
		return nil, fmt.Errorf("read the failures of endpoint %s: %w", endpointID, err)
	}
	var failures []delivery.Failure
	for _, row := range s.unexpiredRows(out.Items) {
		failures = append(failures, readFailure(tenant, endpointID, row))
	}
	return failures, nil
}

func readFailure(tenant, endpointID string, row Item) delivery.Failure {
	at, id, _ := strings.Cut(getText(row, "sk"), "#")
	when, _ := time.Parse(time.RFC3339, at) // in the format of failureKey
	return delivery.Failure{
		Tenant: tenant, EndpointID: endpointID, WebhookID: id, At: when, Kind: delivery.Kind(getText(row, "kind")),
		MessageID: getText(row, "messageId"), Status: int(getNumber(row, "status")), Code: getText(row, "code"),
		Attempt: int(getNumber(row, "attempt")), Took: time.Duration(getNumber(row, "took")) * time.Millisecond, Kept: getBool(row, "kept"),
		Task:  delivery.NotifyTask{DeliveryID: getText(row, "deliveryId"), Tenant: tenant, EndpointID: endpointID},
		Entry: getBinary(row, "entry"), Blob: getText(row, "blob"),
	}
}
