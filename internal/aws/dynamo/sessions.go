package dynamo

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"campaign-dispatch/internal/aws/awsjson"
	"campaign-dispatch/internal/campaign"
)

// EndSessions revokes all sessions of a user that started at or before the instant. It
// never moves the instant back.
func (s *AuthStore) EndSessions(ctx context.Context, tenant, email string, until time.Time) error {
	w := s.update(personKey(tenant, email), "SET sessionsVoidUntil = :until, "+TTL+" = :ttl",
		"attribute_not_exists(sessionsVoidUntil) OR sessionsVoidUntil < :until",
		Item{":until": millis(until), ":ttl": number(until.Add(campaign.SessionEndLife).Unix())})
	return s.tryWrite(ctx, "revoke sessions of user", inTable(s.Auth, w))
}

// SessionsEnded reads consistently the instant up to which a user's sessions are revoked,
// zero for none.
func (s *AuthStore) SessionsEnded(ctx context.Context, tenant, email string) (time.Time, error) {
	if until, err := s.fastSessionsEnded(ctx, tenant, email); err == nil {
		return until, nil
	}
	row, err := s.getFrom(ctx, "read session revocation of user", s.Auth, personKey(tenant, email))
	return getMillis(row, "sessionsVoidUntil"), campaign.IgnoreNotFound(err)
}

// sessionEndRow is the answer of GetItem with the row of a person.
type sessionEndRow struct {
	Item struct {
		Until struct{ N string } `json:"sessionsVoidUntil"`
		TTL   struct{ N string } `json:"expiresAt"`
	}
}

// fastSessionsEnded is SessionsEnded without the SDK's middleware, for half of the CPU
// time: every dashboard page calls it. It makes one attempt.
func (s *AuthStore) fastSessionsEnded(ctx context.Context, tenant, email string) (time.Time, error) {
	o := s.Client.Options()
	client := awsjson.New(aws.Config{
		Region: o.Region, Credentials: o.Credentials, HTTPClient: o.HTTPClient, BaseEndpoint: o.BaseEndpoint,
		Retryer: func() aws.Retryer { return aws.NopRetryer{} },
	}, awsjson.Service{Name: "dynamodb", Target: "DynamoDB_20120810", Version: "1.0", Sums: true}, s.Now)
	var row sessionEndRow
	err := client.Call(ctx, "GetItem", map[string]any{
		"TableName": s.Auth, "Key": map[string]any{"pk": map[string]string{"S": getText(personKey(tenant, email), "pk")}}, "ConsistentRead": true,
	}, &row)
	if err != nil || row.Item.Until.N == "" {
		return time.Time{}, err
	}
	until, err := strconv.ParseInt(row.Item.Until.N, 10, 64)
	end, errOfEnd := strconv.ParseInt(row.Item.TTL.N, 10, 64)
	if err := errors.Join(err, errOfEnd); err != nil || end <= s.Now().Unix() {
		return time.Time{}, err
	}
	return time.UnixMilli(until).UTC(), nil
}
