package dynamo

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/oauth/authrow"
)

// CreateCredential writes a new credential and its list entry. The error wraps
// campaign.ErrLostRace if the client ID exists.
func (s *AuthStore) CreateCredential(ctx context.Context, c account.Credential) error {
	entry := with(credentialEntryKey(c.Tenant, c.ClientID), Item{"name": text(c.Name)})
	row := with(credentialKey(c.ClientID), credentialFields(&c).item())
	return s.writeAll(ctx, "create credential "+c.ClientID, inTable(s.Auth, s.putNew(row)), s.put(entry))
}

// Credential returns a credential. The error wraps campaign.ErrNotFound if it does not
// exist.
func (s *AuthStore) Credential(ctx context.Context, clientID string) (account.Credential, error) {
	row, err := s.getFrom(ctx, "read credential "+clientID, s.Auth, credentialKey(clientID))
	return readCredential(clientID, row), err
}

// RevokeCredential revokes a credential. It can be repeated and keeps the first time. The
// error wraps campaign.ErrNotFound if the credential does not exist.
func (s *AuthStore) RevokeCredential(ctx context.Context, clientID string) error {
	const update = "SET revokedAt = if_not_exists(revokedAt, :now)"
	w := inTable(s.Auth, s.update(credentialKey(clientID), update, present, Item{":now": millis(s.Now())}))
	return s.mustWrite(ctx, "revoke credential "+clientID, w, campaign.ErrNotFound)
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
	const condition = present + " AND attribute_not_exists(revokedAt) AND secretHash <> :new"
	w := inTable(s.Auth, s.update(credentialKey(clientID), update, condition, values))
	return s.rotate(ctx, "rotate credential "+clientID, w, func(there Item) bool {
		return bytes.Equal(getBinary(there, "secretHash"), secretHash)
	})
}

// rotate writes a new secret. The error wraps campaign.ErrNotFound if the condition failed, unless
// the row has the new secret already: the SDK repeats updates without a response.
func (t *table) rotate(ctx context.Context, doing string, w types.TransactWriteItem, done func(there Item) bool) error {
	there, held, err := t.writeOrRead(ctx, doing, w)
	if err == nil && !held && !done(there) {
		err = fmt.Errorf("%s: %w", doing, campaign.ErrNotFound)
	}
	return err
}

// Credentials returns a tenant's credentials, revoked ones included, ordered by client ID.
func (s *AuthStore) Credentials(ctx context.Context, tenant string) ([]account.Credential, error) {
	ids, err := list(ctx, &s.table, tenantPrefix+tenant, credentialPrefix, func(id string, _ Item) string { return id })
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
		rows, err := s.authRows(ctx, keys)
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

func credentialFields(c *account.Credential) fields {
	return fields{
		"tenant": &c.Tenant, "name": &c.Name, "secretHash": &c.SecretHash, "scope": &c.Scope, "createdAt": &c.CreatedAt,
		"createdBy?": &c.CreatedBy, "previousSecretHash?": &c.PreviousSecretHash, "previousUntil?": &c.PreviousUntil,
		"refreshGeneration?": &c.RefreshGeneration, "revokedAt?": &c.RevokedAt,
	}
}

func readCredential(clientID string, row Item) account.Credential {
	return fill(account.Credential{ClientID: clientID}, credentialFields, row)
}
