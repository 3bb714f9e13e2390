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

// personKey is the row of a dashboard user. It contains no email address and ignores case,
// like the user pool.
func personKey(tenant, email string) Item {
	return Item{"pk": text("PERSON#" + tenant + "#" + campaign.Digest(strings.ToLower(email)))}
}

// EndSessions revokes all sessions of a user that started at or before the instant. It
// never moves the instant back.
func (s *AuthStore) EndSessions(ctx context.Context, tenant, email string, until time.Time) error {
	_, err := s.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.Auth, Key: personKey(tenant, email),
		UpdateExpression:         aws.String("SET sessionsVoidUntil = :until, #ttl = :ttl"),
		ConditionExpression:      aws.String("attribute_not_exists(sessionsVoidUntil) OR sessionsVoidUntil < :until"),
		ExpressionAttributeNames: map[string]string{"#ttl": TTL},
		ExpressionAttributeValues: Item{
			":until": millis(until), ":ttl": number(until.Add(campaign.SessionEndLife).Unix()),
		},
	})
	if _, err := conditionHeld(err, "revoke sessions of user"); err != nil {
		return err
	}
	return nil
}

// SessionsEnded reads consistently the instant up to which a user's sessions are revoked,
// zero for none.
func (s *AuthStore) SessionsEnded(ctx context.Context, tenant, email string) (time.Time, error) {
	if until, err := s.fastSessionsEnded(ctx, tenant, email); err == nil {
		return until, nil
	}
	out, err := s.Client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &s.Auth, Key: personKey(tenant, email), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("read session revocation of user: %w", err)
	}
	return getMillis(s.unexpiredRow(out.Item), "sessionsVoidUntil"), nil
}
