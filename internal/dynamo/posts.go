package dynamo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/campaign"
)

const (
	// hourForm and failureForm write instants so that they sort.
	hourForm    = "2006-01-02T15"
	failureForm = "2006-01-02T15:04:05.000Z"
)

// CountPosts adds posts to the counts of an endpoint and the hour of at.
func (s *Store) CountPosts(ctx context.Context, tenant, endpointID string, at time.Time, taken, failed int) error {
	_, err := s.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.Campaigns, Key: postsKey(tenant, endpointID, at),
		UpdateExpression:         aws.String("ADD taken :taken, failed :failed SET #ttl = :ttl"),
		ExpressionAttributeNames: map[string]string{"#ttl": TTL},
		ExpressionAttributeValues: Item{
			":taken": number(taken), ":failed": number(failed), ":ttl": number(at.Truncate(time.Hour).Add(campaign.PostsLife).Unix()),
		},
	})
	if err != nil {
		return fmt.Errorf("count the posts to endpoint %s: %w", endpointID, err)
	}
	return nil
}

func postsKey(tenant, endpointID string, at time.Time) Item {
	return Item{"pk": text(postsPK(tenant, endpointID)), "sk": text(at.UTC().Format(hourForm))}
}

func postsPK(tenant, endpointID string) string { return "STATS#" + tenant + "#" + endpointID }

// HourlyPosts returns the posts to an endpoint in the hours from since on. Hours
// without any are left out.
func (s *Store) HourlyPosts(ctx context.Context, tenant, endpointID string, since time.Time) ([]campaign.HourlyPosts, error) {
	rows, err := s.query(ctx, "pk = :pk AND sk >= :since", Item{
		":pk": text(postsPK(tenant, endpointID)), ":since": text(since.UTC().Format(hourForm)),
	})
	if err != nil {
		return nil, fmt.Errorf("read the posts to endpoint %s: %w", endpointID, err)
	}
	hours := make([]campaign.HourlyPosts, 0, len(rows))
	for _, row := range rows {
		hour, _ := time.Parse(hourForm, getText(row, "sk")) // as postsKey wrote it
		hours = append(hours, campaign.HourlyPosts{Hour: hour, Taken: int(getNumber(row, "taken")), Failed: int(getNumber(row, "failed"))})
	}
	return hours, nil
}

// RecordFailure writes down a webhook that was not taken.
func (s *Store) RecordFailure(ctx context.Context, f campaign.WebhookFailure) error {
	row := failureKey(f)
	row["kind"], row["messageId"], row["status"] = text(string(f.Kind)), text(f.MessageID), number(f.Status)
	row["code"], row["attempt"], row["position"] = text(f.Code), number(f.Attempt), number(f.Position)
	row["batchKey"], row["ordinal"], row["blob"] = text(f.Task.BatchKey), number(f.Task.Ordinal), text(f.Task.Blob)
	row[TTL] = number(f.At.Add(campaign.FailureLife).Unix())
	_, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.Campaigns, Item: row})
	if err != nil {
		return fmt.Errorf("record a failure of endpoint %s: %w", f.EndpointID, err)
	}
	return nil
}

func failureKey(f campaign.WebhookFailure) Item {
	return Item{"pk": text(failuresPK(f.Tenant, f.EndpointID)), "sk": text(f.At.UTC().Format(failureForm) + "#" + f.WebhookID)}
}

func failuresPK(tenant, endpointID string) string { return "FAILURES#" + tenant + "#" + endpointID }

// Failure reads the failure of a webhook at an instant; the error wraps
// campaign.ErrNotFound where there is none.
func (s *Store) Failure(ctx context.Context, tenant, endpointID, webhookID string, at time.Time) (campaign.WebhookFailure, error) {
	key := failureKey(campaign.WebhookFailure{Tenant: tenant, EndpointID: endpointID, WebhookID: webhookID, At: at})
	row, err := s.get(ctx, key)
	if err != nil {
		return campaign.WebhookFailure{}, fmt.Errorf("read a failure of endpoint %s: %w", endpointID, err)
	}
	return readFailure(tenant, endpointID, row), nil
}

// Failures returns up to limit of an endpoint's failures, the last one first.
func (s *Store) Failures(ctx context.Context, tenant, endpointID string, limit int) ([]campaign.WebhookFailure, error) {
	out, err := s.Client.Query(ctx, &dynamodb.QueryInput{
		TableName: &s.Campaigns, ScanIndexForward: aws.Bool(false), Limit: aws.Int32(int32(limit)), //nolint:gosec // some hundreds
		KeyConditionExpression:    aws.String("pk = :pk"),
		ExpressionAttributeValues: Item{":pk": text(failuresPK(tenant, endpointID))},
	})
	if err != nil {
		return nil, fmt.Errorf("read the failures of endpoint %s: %w", endpointID, err)
	}
	failures := make([]campaign.WebhookFailure, 0, len(out.Items))
	for _, row := range s.live(out.Items) {
		failures = append(failures, readFailure(tenant, endpointID, row))
	}
	return failures, nil
}

func readFailure(tenant, endpointID string, row Item) campaign.WebhookFailure {
	at, id, _ := strings.Cut(getText(row, "sk"), "#")
	when, _ := time.Parse(time.RFC3339, at) // as failureKey wrote it
	f := campaign.WebhookFailure{
		Tenant: tenant, EndpointID: endpointID, WebhookID: id, At: when, Kind: campaign.Kind(getText(row, "kind")),
		MessageID: getText(row, "messageId"), Status: int(getNumber(row, "status")), Code: getText(row, "code"),
		Attempt: int(getNumber(row, "attempt")), Position: int(getNumber(row, "position")),
		Task: campaign.NotifyTask{
			Tenant: tenant, EndpointID: endpointID, BatchKey: getText(row, "batchKey"),
			Ordinal: int(getNumber(row, "ordinal")), Blob: getText(row, "blob"),
		},
	}
	if f.Task.Blob != "" {
		f.Task.Kind = f.Kind
	}
	return f
}
