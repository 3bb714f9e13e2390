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

// personKey is the row of a person of a tenant. It holds no address, and is the
// same however the address is capitalised, as it is for the user pool.
func personKey(tenant, email string) Item {
	return Item{"pk": text("PERSON#" + tenant + "#" + campaign.Digest(strings.ToLower(email)))}
}

// EndSessions makes void all sessions of a person that began at the instant or
// before. An instant before the one that stands there changes nothing.
func (s *Store) EndSessions(ctx context.Context, tenant, email string, until time.Time) error {
	_, err := s.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.Auth, Key: personKey(tenant, email),
		UpdateExpression:         aws.String("SET sessionsVoidUntil = :until, #ttl = :ttl"),
		ConditionExpression:      aws.String("attribute_not_exists(sessionsVoidUntil) OR sessionsVoidUntil < :until"),
		ExpressionAttributeNames: map[string]string{"#ttl": TTL},
		ExpressionAttributeValues: Item{
			":until": millis(until), ":ttl": number(until.Add(campaign.SessionEndLife).Unix()),
		},
	})
	if _, err := held(err, "end a person's sessions"); err != nil {
		return err
	}
	return nil
}

// SessionsEnded reads consistently up to which instant a person's sessions are
// void; it is zero where they are not.
func (s *Store) SessionsEnded(ctx context.Context, tenant, email string) (time.Time, error) {
	if until, err := s.lightSessionsEnded(ctx, tenant, email); err == nil {
		return until, nil
	}
	out, err := s.Client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &s.Auth, Key: personKey(tenant, email), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("read when a person's sessions ended: %w", err)
	}
	return getMillis(s.alive(out.Item), "sessionsVoidUntil"), nil
}
