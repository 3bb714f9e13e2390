package dynamo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"campaign-dispatch/internal/campaign"
)

// perBatchGet is the maximum number of rows of a BatchGetItem call.
const perBatchGet = 100

// Credentials returns a tenant's credentials, revoked ones included, ordered by client ID.
func (s *Store) Credentials(ctx context.Context, tenant string) ([]campaign.Credential, error) {
	ids, err := list(ctx, s, "TEN#"+tenant, "CREDENTIAL#", func(id string, _ Item) string { return id })
	if err != nil {
		return nil, err
	}
	credentials := make([]campaign.Credential, 0, len(ids))
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
func (s *Store) LastUsed(ctx context.Context, clientIDs []string) (map[string]time.Time, error) {
	used := map[string]time.Time{}
	key := func(id string) Item { return rateKey(campaign.ClientWindow(id)) }
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
func (s *Store) authRowsOf(ctx context.Context, ids []string, key func(id string) Item, read func(id string, row Item)) error {
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
