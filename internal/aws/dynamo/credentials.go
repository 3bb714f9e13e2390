package dynamo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/oauth/authrow"
	"campaign-dispatch/internal/settings/account"
)

// perBatchGet is the maximum number of rows of a BatchGetItem call.
const perBatchGet = 100

// CreateCredential writes a new credential and its list entry. The error wraps
// campaign.ErrLostRace if the client ID exists.
func (s *AuthStore) CreateCredential(ctx context.Context, c account.Credential) error {
	row := s.putNew(credentialRow(c))
	row.Put.TableName = &s.Auth
	entry := s.put(withValue(entryKey(c.Tenant, "CREDENTIAL#", c.ClientID), "name", text(c.Name)))
	return s.writeAll(ctx, "create credential "+c.ClientID, row, entry)
}

// RotateCredential replaces the secret of a valid credential. The previous secret stays
// valid until previousUntil. If that is zero, the previous secret and all refresh tokens
// become invalid at once. The error wraps campaign.ErrNotFound if there is no valid
// credential.
func (s *AuthStore) RotateCredential(ctx context.Context, clientID string, secretHash []byte, previousUntil time.Time) error {
	update := "SET previousSecretHash = secretHash, previousUntil = :until, secretHash = :new"
	values := Item{":new": bytesOf(secretHash), ":until": millis(previousUntil)}
	if previousUntil.IsZero() {
		update = "SET secretHash = :new REMOVE previousSecretHash, previousUntil ADD refreshGeneration :one"
		values = Item{":new": bytesOf(secretHash), ":one": number(1)}
	}
	_, err := s.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.Auth, Key: credentialKey(clientID), UpdateExpression: &update,
		ConditionExpression:                 aws.String("attribute_exists(pk) AND attribute_not_exists(revokedAt) AND secretHash <> :new"),
		ExpressionAttributeValues:           values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		// The SDK repeats updates without a response: the first one succeeded.
		if bytes.Equal(getBinary(refused.Item, "secretHash"), secretHash) {
			return nil
		}
		err = campaign.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("rotate credential %s: %w", clientID, err)
	}
	return nil
}

// Credentials returns a tenant's credentials, revoked ones included, ordered by client ID.
func (s *AuthStore) Credentials(ctx context.Context, tenant string) ([]account.Credential, error) {
	ids, err := list(ctx, &s.table, "TEN#"+tenant, "CREDENTIAL#", func(id string, _ Item) string { return id })
	if err != nil {
		return nil, err
	}
	credentials := make([]account.Credential, 0, len(ids))
	err = s.authRowsOf(ctx, ids, credentialKey, func(id string, row Item) {
		credentials = append(credentials, readCredential(id, row))
	})
	if err != nil {
		return nil, fmt.Errorf("read the credentials of tenant %s: %w", tenant, err)
	}
	return credentials, nil
}

// LastUsed returns when each client last requested a token, from its rate limit window.
// Clients without a request are omitted.
func (s *AuthStore) LastUsed(ctx context.Context, clientIDs []string) (map[string]time.Time, error) {
	used := map[string]time.Time{}
	key := func(id string) Item { return rateKey(authrow.ClientWindow(id)) }
	err := s.authRowsOf(ctx, clientIDs, key, func(id string, row Item) {
		if w := readWindow(row); len(w) > 0 {
			used[id] = w[len(w)-1].At
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read last use of credentials: %w", err)
	}
	return used, nil
}

// authRowsOf reads a row of the Auth table for each ID and passes existing ones to read, in
// order.
func (s *AuthStore) authRowsOf(ctx context.Context, ids []string, key func(id string) Item, read func(id string, row Item)) error {
	for part := range slices.Chunk(ids, perBatchGet) {
		keys := make(map[string]rowKey, len(part))
		for _, id := range part {
			keys[id] = rowKey{s.Auth, key(id)}
		}
		var rows map[string]Item
		err := repeat(ctx, func() (err error) {
			rows, err = s.batchGet(ctx, keys)
			return err
		})
		if err != nil {
			return err
		}
		for _, id := range part {
			if row := rows[keys[id].id()]; row != nil {
				read(id, row)
			}
		}
	}
	return nil
}
