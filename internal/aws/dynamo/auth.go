package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/oauth/authrow"
)

// AuthRows reads the rows needed for a token request, consistently and in one call. The
// result can contain expired rows.
func (s *AuthStore) AuthRows(ctx context.Context, q authrow.Query) (authrow.Rows, error) {
	wanted := []wantedKey{
		{"credential", q.ClientID != "", s.Auth, credentialKey(q.ClientID)},
		{"token", q.TokenHash != "", s.Auth, refreshKey(q.TokenHash)},
		{"family", q.Family != "", s.Auth, familyKey(q.Family)},
		{"places", q.Places != "", s.Auth, rateKey(q.Places)},
	}
	for _, key := range q.Windows {
		wanted = append(wanted, wantedKey{"window " + key, true, s.Auth, rateKey(key)})
	}
	keys := wantedKeys(wanted)
	found, err := s.authRows(ctx, keys)
	if err != nil {
		return authrow.Rows{}, fmt.Errorf("read the rows of a token request: %w", err)
	}
	row := func(part string) Item { return found[keys[part].id()] }
	rows := authrow.Rows{
		FamilyRevoked: row("family") != nil, Windows: map[string]authrow.Window{}, Places: readPlaces(row("places")),
	}
	if r := row("credential"); r != nil {
		credential := readCredential(q.ClientID, r)
		rows.Credential = &credential
	}
	if r := row("token"); r != nil {
		token := readRefreshToken(q.TokenHash, r)
		rows.Token = &token
	}
	for _, key := range q.Windows {
		rows.Windows[key] = readWindow(row("window " + key))
	}
	return rows, nil
}

// authRows is batchGet that is repeated after a lost response.
func (s *AuthStore) authRows(ctx context.Context, keys map[string]rowKey) (found map[string]Item, err error) {
	err = repeat(ctx, func() (err error) { found, err = s.batchGet(ctx, keys); return err })
	return found, err
}

// PutRefreshToken writes the first token of a family.
func (s *AuthStore) PutRefreshToken(ctx context.Context, t authrow.RefreshToken) error {
	return s.putAuth(ctx, "put refresh token", refreshRow(t))
}

func (s *AuthStore) putAuth(ctx context.Context, doing string, row Item) error {
	return repeat(ctx, func() error { return s.tryWrite(ctx, doing, inTable(s.Auth, s.put(row))) })
}

// RotateRefreshToken marks the token as used and writes the next one, in one transaction.
// The error wraps campaign.ErrLostRace if the token is used, its family is revoked, or its
// credential was revoked or rotated without overlap. After any other error, the transaction
// may have been committed.
func (s *AuthStore) RotateRefreshToken(ctx context.Context, used, next authrow.RefreshToken, at time.Time) error {
	const unused = present + " AND attribute_not_exists(usedAt)"
	reasons, err := s.transact(ctx, []types.TransactWriteItem{
		inTable(s.Auth, s.update(refreshKey(used.Hash), "SET usedAt = :at", unused, Item{":at": millis(at)})),
		inTable(s.Auth, s.putNew(refreshRow(next))),
		inTable(s.Auth, s.check(familyKey(used.Family), absent, nil)),
		s.credentialActiveCheck(used.ClientID, used.Generation),
	}, next.Hash[:32])
	switch {
	case err != nil:
		return fmt.Errorf("rotate refresh token: %w", err)
	case slices.ContainsFunc(reasons, failedCondition):
		return fmt.Errorf("rotate refresh token: %w", campaign.ErrLostRace)
	case len(reasons) > 0: // the caller can retry
		return errors.New("rotate refresh token: too many transaction conflicts")
	}
	return nil
}

func (s *AuthStore) credentialActiveCheck(clientID string, generation int) types.TransactWriteItem {
	condition, values := present+" AND attribute_not_exists(revokedAt) AND ", Item(nil)
	if generation == 0 {
		condition += "attribute_not_exists(refreshGeneration)"
	} else {
		condition, values = condition+"refreshGeneration = :generation", Item{":generation": number(generation)}
	}
	return inTable(s.Auth, s.check(credentialKey(clientID), condition, values))
}

// RevokeFamily revokes a family of refresh tokens. until is when the last of them expires.
func (s *AuthStore) RevokeFamily(ctx context.Context, family string, until time.Time) error {
	row := with(familyKey(family), Item{"revokedAt": millis(s.Now()), TTL: number(until.Unix())})
	return s.putAuth(ctx, "revoke family of refresh tokens", row)
}

func refreshFields(t *authrow.RefreshToken) fields {
	return fields{
		"family": &t.Family, "clientId": &t.ClientID, "scope": &t.Scope, "validUntil": &t.Expires, "generation?": &t.Generation,
		"usedAt?": &t.Used,
	}
}

func refreshRow(t authrow.RefreshToken) Item {
	return with(with(refreshKey(t.Hash), refreshFields(&t).item()), Item{TTL: number(t.Expires.Unix() + 1)})
}

func readRefreshToken(hash string, row Item) authrow.RefreshToken {
	return fill(authrow.RefreshToken{Hash: hash}, refreshFields, row)
}
