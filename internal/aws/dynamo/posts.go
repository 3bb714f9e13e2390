package dynamo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/webhook/poststats"
)

const (
	// Sortable time formats.
	hourForm    = "2006-01-02T15"
	failureForm = "2006-01-02T15:04:05.000Z"
)

// CountPosts adds posts to the endpoint's counts in the hour of at.
func (s *CampaignStore) CountPosts(ctx context.Context, tenant, endpointID string, at time.Time, taken, failed int) error {
	if s.Split {
		return s.AddPosts(ctx, tenant, at, map[string]poststats.Count{endpointID: {Taken: taken, Failed: failed}})
	}
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

// Attribute name prefixes of a tenant's hourly post counts, followed by the endpoint ID.
const (
	takenPrefix  = "taken#"
	failedPrefix = "failed#"
)

// AddPosts adds posts to the hourly counts of a tenant's endpoints, by endpoint ID, with
// one write.
func (s *CampaignStore) AddPosts(ctx context.Context, tenant string, at time.Time, posts map[string]poststats.Count) error {
	names, values, add := map[string]string{"#ttl": TTL}, Item{":ttl": number(at.Truncate(time.Hour).Add(campaign.PostsLife).Unix())}, []string{}
	count := func(name string, n int) {
		if n > 0 {
			i := strconv.Itoa(len(add))
			names["#n"+i], values[":n"+i] = name, number(n)
			add = append(add, "#n"+i+" :n"+i)
		}
	}
	for id, p := range posts {
		count(takenPrefix+id, p.Taken)
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

func postsKey(tenant, endpointID string, at time.Time) Item {
	return Item{"pk": text(postsPK(tenant, endpointID)), "sk": text(at.UTC().Format(hourForm))}
}

func postsPK(tenant, endpointID string) string { return "STATS#" + tenant + "#" + endpointID }

// HourlyPosts returns the posts to an endpoint per hour since an instant, from both tables.
// Hours without posts are omitted.
func (s *CampaignStore) HourlyPosts(ctx context.Context, tenant, endpointID string, since time.Time) ([]poststats.Hourly, error) {
	hours := map[string]poststats.Count{}
	for _, from := range []struct {
		store             *CampaignStore
		pk, taken, failed string
	}{
		{s, postsPK(tenant, endpointID), "taken", "failed"},
		{s.inWebhooks(), tenantPostsPK(tenant), takenPrefix + endpointID, failedPrefix + endpointID},
	} {
		rows, err := from.store.query(ctx, "pk = :pk AND sk >= :since", Item{":pk": text(from.pk), ":since": text(since.UTC().Format(hourForm))})
		if err != nil {
			return nil, fmt.Errorf("read the posts to endpoint %s: %w", endpointID, err)
		}
		for _, row := range rows {
			hour := getText(row, "sk")
			hours[hour] = poststats.Count{
				Taken:  hours[hour].Taken + int(getNumber(row, from.taken)),
				Failed: hours[hour].Failed + int(getNumber(row, from.failed)),
			}
		}
	}
	return hourly(hours), nil
}

// hourly returns the counts ordered by hour. Hours without posts to the endpoint are
// omitted.
func hourly(hours map[string]poststats.Count) []poststats.Hourly {
	posts := make([]poststats.Hourly, 0, len(hours))
	for _, sk := range slices.Sorted(maps.Keys(hours)) {
		hour, _ := time.Parse(hourForm, sk) // in the format of the key
		if p := hours[sk]; p != (poststats.Count{}) {
			posts = append(posts, poststats.Hourly{Hour: hour, Taken: p.Taken, Failed: p.Failed})
		}
	}
	return posts
}

// RecordFailure records a failed webhook.
func (s *CampaignStore) RecordFailure(ctx context.Context, f campaign.WebhookFailure) error {
	row := failureKey(f)
	row["kind"], row["messageId"], row["status"] = text(string(f.Kind)), text(f.MessageID), number(f.Status)
	row["code"], row["attempt"], row["position"] = text(f.Code), number(f.Attempt), number(f.Position)
	row["batchKey"], row["ordinal"], row["blob"] = text(f.Task.BatchKey), number(f.Task.Ordinal), text(f.Task.Blob)
	if f.Task.DeliveryID != "" {
		row["noticeId"], row["blob"] = text(f.Task.DeliveryID), text(f.Blob)
	}
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
	_, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{TableName: s.failuresTable(f), Item: row})
	if err != nil {
		return fmt.Errorf("record a failure of endpoint %s: %w", f.EndpointID, err)
	}
	return nil
}

// failuresTable returns the table for a failure. Failures of deliveries with an ID are in
// the Webhooks table, because the previous version cannot read them.
func (s *CampaignStore) failuresTable(f campaign.WebhookFailure) *string {
	if s.Split || f.Task.DeliveryID != "" {
		return &s.Webhooks
	}
	return &s.Campaigns
}

func failureKey(f campaign.WebhookFailure) Item {
	return Item{"pk": text(failuresPK(f.Tenant, f.EndpointID)), "sk": text(f.At.UTC().Format(failureForm) + "#" + f.WebhookID)}
}

func failuresPK(tenant, endpointID string) string { return "FAILURES#" + tenant + "#" + endpointID }

// Failure reads the failure of a webhook at an instant. The error wraps
// campaign.ErrNotFound if it does not exist.
func (s *CampaignStore) Failure(ctx context.Context, tenant, endpointID, webhookID string, at time.Time) (campaign.WebhookFailure, error) {
	key := failureKey(campaign.WebhookFailure{Tenant: tenant, EndpointID: endpointID, WebhookID: webhookID, At: at})
	row, err := s.inWebhooks().get(ctx, key)
	if errors.Is(err, campaign.ErrNotFound) {
		row, err = s.get(ctx, key)
	}
	if err != nil {
		return campaign.WebhookFailure{}, fmt.Errorf("read a failure of endpoint %s: %w", endpointID, err)
	}
	return readFailure(tenant, endpointID, row), nil
}

// Failures returns up to limit failures of an endpoint from both tables, newest first.
func (s *CampaignStore) Failures(ctx context.Context, tenant, endpointID string, limit int) ([]campaign.WebhookFailure, error) {
	var failures []campaign.WebhookFailure
	for _, table := range []string{s.Campaigns, s.Webhooks} {
		out, err := s.Client.Query(ctx, &dynamodb.QueryInput{
			TableName: &table, ScanIndexForward: aws.Bool(false), Limit: aws.Int32(int32(limit)), //nolint:gosec // some hundreds
			KeyConditionExpression:    aws.String("pk = :pk"),
			ExpressionAttributeValues: Item{":pk": text(failuresPK(tenant, endpointID))},
		})
		if err != nil {
			return nil, fmt.Errorf("read the failures of endpoint %s: %w", endpointID, err)
		}
		for _, row := range s.unexpiredRows(out.Items) {
			failures = append(failures, readFailure(tenant, endpointID, row))
		}
	}
	slices.SortFunc(failures, func(a, b campaign.WebhookFailure) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.WebhookID, a.WebhookID))
	})
	return failures[:min(limit, len(failures))], nil
}

func readFailure(tenant, endpointID string, row Item) campaign.WebhookFailure {
	at, id, _ := strings.Cut(getText(row, "sk"), "#")
	when, _ := time.Parse(time.RFC3339, at) // in the format of failureKey
	f := campaign.WebhookFailure{
		Tenant: tenant, EndpointID: endpointID, WebhookID: id, At: when, Kind: campaign.Kind(getText(row, "kind")),
		MessageID: getText(row, "messageId"), Status: int(getNumber(row, "status")), Code: getText(row, "code"),
		Attempt: int(getNumber(row, "attempt")), Position: int(getNumber(row, "position")),
		Took: time.Duration(getNumber(row, "took")) * time.Millisecond, Kept: getBool(row, "kept"),
		Task: campaign.NotifyTask{
			Tenant: tenant, EndpointID: endpointID, BatchKey: getText(row, "batchKey"),
			Ordinal: int(getNumber(row, "ordinal")), Blob: getText(row, "blob"),
		},
	}
	switch {
	case row["noticeId"] != nil:
		f.Task = campaign.NotifyTask{DeliveryID: getText(row, "noticeId"), Tenant: tenant, EndpointID: endpointID}
		f.Entry, f.Blob = getBinary(row, "entry"), getText(row, "blob")
	case f.Task.Blob != "":
		f.Task.Kind = f.Kind
	}
	return f
}
