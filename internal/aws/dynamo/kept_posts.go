package dynamo

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/webhook/delivery"
)

// KeepPost writes a post with its payload and its answer. A repeated call changes nothing.
func (s *KeptPostStore) KeepPost(ctx context.Context, p delivery.KeptPost) error {
	row := keptPostKey(p)
	row["kind"], row["attempt"], row["status"], row["code"] = text(string(p.Kind)), number(p.Attempt), number(p.Status), text(p.Code)
	row["took"], row["payload"], row["answer"] = number(int(p.Took.Milliseconds())), bytesOf(p.Payload), text(p.Answer.Text)
	row["cut"], row["notText"] = boolean(p.Answer.Cut), boolean(p.Answer.NotText)
	row[TTL] = number(p.At.Add(campaign.KeptPostLife).Unix())
	if _, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.Webhooks, Item: row}); err != nil {
		return fmt.Errorf("keep a post to endpoint %s: %w", p.EndpointID, err)
	}
	return nil
}

func keptPostKey(p delivery.KeptPost) Item {
	return Item{"pk": text(keptPostsPK(p.Tenant, p.EndpointID)), "sk": text(p.At.UTC().Format(failureForm) + "#" + p.WebhookID)}
}

func keptPostsPK(tenant, endpointID string) string { return "POSTS#" + tenant + "#" + endpointID }

// KeptPost reads the kept post of a webhook at an instant. The error wraps
// campaign.ErrNotFound if there is none.
func (s *KeptPostStore) KeptPost(ctx context.Context, tenant, endpointID, webhookID string, at time.Time) (delivery.KeptPost, error) {
	key := keptPostKey(delivery.KeptPost{Tenant: tenant, EndpointID: endpointID, WebhookID: webhookID, At: at})
	row, err := s.getFrom(ctx, s.Webhooks, key)
	if err != nil {
		return delivery.KeptPost{}, fmt.Errorf("read a post to endpoint %s: %w", endpointID, err)
	}
	return readKeptPost(tenant, endpointID, row), nil
}

// KeptPosts returns up to limit kept posts of an endpoint, newest first, without their
// payloads and answers.
func (s *KeptPostStore) KeptPosts(ctx context.Context, tenant, endpointID string, limit int) ([]delivery.KeptPost, error) {
	expression, names := projection(withEnd([]string{"pk", "sk", "kind", "attempt", "status", "code", "took"}))
	out, err := s.Client.Query(ctx, &dynamodb.QueryInput{
		TableName: &s.Webhooks, ScanIndexForward: aws.Bool(false), Limit: aws.Int32(int32(limit)), //nolint:gosec // some dozens
		KeyConditionExpression:    aws.String("pk = :pk"),
		ExpressionAttributeValues: Item{":pk": text(keptPostsPK(tenant, endpointID))},
		ProjectionExpression:      expression, ExpressionAttributeNames: names,
	})
	if err != nil {
		return nil, fmt.Errorf("read the posts to endpoint %s: %w", endpointID, err)
	}
	var posts []delivery.KeptPost
	for _, row := range s.unexpiredRows(out.Items) {
		posts = append(posts, readKeptPost(tenant, endpointID, row))
	}
	return posts, nil
}

// AllKeptPosts yields the kept posts of all endpoints of a tenant. Expired posts that are not
// deleted yet are included.
func (s *KeptPostStore) AllKeptPosts(ctx context.Context, tenant string) iter.Seq2[delivery.KeptPost, error] {
	return func(yield func(delivery.KeptPost, error) bool) {
		endpoints, err := (&EndpointStore{s.table}).Endpoints(ctx, tenant)
		if err != nil {
			yield(delivery.KeptPost{}, err)
			return
		}
		for _, e := range endpoints {
			if !s.yieldKeptPosts(ctx, e, yield) {
				return
			}
		}
	}
}

// yieldKeptPosts yields the kept posts of an endpoint. It reports whether to go on.
func (s *KeptPostStore) yieldKeptPosts(ctx context.Context, e delivery.Endpoint, yield func(delivery.KeptPost, error) bool) bool {
	pages := dynamodb.NewQueryPaginator(s.Client, &dynamodb.QueryInput{
		TableName: &s.Webhooks, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("pk = :pk"),
		ExpressionAttributeValues: Item{":pk": text(keptPostsPK(e.Tenant, e.ID))},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			yield(delivery.KeptPost{}, fmt.Errorf("read the posts to endpoint %s: %w", e.ID, err))
			return false
		}
		for _, row := range page.Items {
			if !yield(readKeptPost(e.Tenant, e.ID, row), nil) {
				return false
			}
		}
	}
	return true
}

// DeleteKeptPost deletes a kept post. A deleted one is not an error.
func (s *KeptPostStore) DeleteKeptPost(ctx context.Context, p delivery.KeptPost) error {
	if _, err := s.Client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &s.Webhooks, Key: keptPostKey(p)}); err != nil {
		return fmt.Errorf("delete a post to endpoint %s: %w", p.EndpointID, err)
	}
	return nil
}

func readKeptPost(tenant, endpointID string, row Item) delivery.KeptPost {
	at, id, _ := strings.Cut(getText(row, "sk"), "#")
	when, _ := time.Parse(time.RFC3339, at) // in the format of keptPostKey
	return delivery.KeptPost{
		Tenant: tenant, EndpointID: endpointID, WebhookID: id, At: when, Kind: delivery.Kind(getText(row, "kind")),
		Attempt: int(getNumber(row, "attempt")), Status: int(getNumber(row, "status")), Code: getText(row, "code"),
		Took: time.Duration(getNumber(row, "took")) * time.Millisecond, Payload: getBinary(row, "payload"),
		Answer: delivery.EndpointAnswer{Text: getText(row, "answer"), Cut: getBool(row, "cut"), NotText: getBool(row, "notText")},
	}
}
