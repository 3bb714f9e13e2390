package dynamo

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/oauth/authrow"
	"campaign-dispatch/internal/settings/account"
)

func refreshKey(hash string) Item { return Item{"pk": text("RT#" + hash)} }

// familyKey is the row that revokes a family of refresh tokens.
func familyKey(family string) Item { return Item{"pk": text("FAM#" + family)} }

func rateKey(key string) Item { return Item{"pk": text("RATE#" + campaign.Digest(key))} }

// SaveCredential creates or replaces a credential.
func (s *AuthStore) SaveCredential(ctx context.Context, c account.Credential) error {
	if err := s.putAuth(ctx, credentialRow(c)); err != nil {
		return fmt.Errorf("save credential %s: %w", c.ClientID, err)
	}
	return nil
}

// Credential returns a credential. The error wraps campaign.ErrNotFound if it does not
// exist.
func (s *AuthStore) Credential(ctx context.Context, clientID string) (account.Credential, error) {
	out, err := s.Client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &s.Auth, Key: credentialKey(clientID), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return account.Credential{}, fmt.Errorf("read credential %s: %w", clientID, err)
	}
	if out.Item == nil {
		return account.Credential{}, fmt.Errorf("read credential %s: %w", clientID, campaign.ErrNotFound)
	}
	return readCredential(clientID, out.Item), nil
}

// RevokeCredential revokes a credential. It can be repeated and keeps the first time. The
// error wraps campaign.ErrNotFound if the credential does not exist.
func (s *AuthStore) RevokeCredential(ctx context.Context, clientID string) error {
	_, err := s.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                 &s.Auth,
		Key:                       credentialKey(clientID),
		UpdateExpression:          aws.String("SET revokedAt = if_not_exists(revokedAt, :now)"),
		ConditionExpression:       aws.String("attribute_exists(pk)"),
		ExpressionAttributeValues: Item{":now": millis(s.Now())},
	})
	if _, absent := errors.AsType[*types.ConditionalCheckFailedException](err); absent {
		return fmt.Errorf("revoke credential %s: %w", clientID, campaign.ErrNotFound)
	}
	if err != nil {
		return fmt.Errorf("revoke credential %s: %w", clientID, err)
	}
	return nil
}

// AuthRows reads the rows needed for a token request, consistently and in one call. The
// result can contain expired rows.
func (s *AuthStore) AuthRows(ctx context.Context, q authrow.Query) (authrow.Rows, error) {
	keys := s.authKeys(q)
	var found map[string]Item
	err := repeat(ctx, func() (err error) {
		found, err = s.batchGet(ctx, keys)
		return err
	})
	if err != nil {
		return authrow.Rows{}, fmt.Errorf("read the rows of a token request: %w", err)
	}
	row := func(part string) Item { return found[keys[part].id()] }
	rows := authrow.Rows{FamilyRevoked: row("family") != nil, Windows: map[string]authrow.Window{}}
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
	rows.Places = readPlaces(row("places"))
	return rows, nil
}

func (s *AuthStore) authKeys(q authrow.Query) map[string]rowKey {
	keys := map[string]rowKey{}
	if q.ClientID != "" {
		keys["credential"] = rowKey{s.Auth, credentialKey(q.ClientID)}
	}
	if q.TokenHash != "" {
		keys["token"] = rowKey{s.Auth, refreshKey(q.TokenHash)}
	}
	if q.Family != "" {
		keys["family"] = rowKey{s.Auth, familyKey(q.Family)}
	}
	for _, key := range q.Windows {
		keys["window "+key] = rowKey{s.Auth, rateKey(key)}
	}
	if q.Places != "" {
		keys["places"] = rowKey{s.Auth, rateKey(q.Places)}
	}
	return keys
}

// SwapWindow replaces the window of a rate limit if it is unchanged since it was read.
// Otherwise swapped is false and current is the stored window. current equals next if a
// repeated write had succeeded before.
func (s *AuthStore) SwapWindow(ctx context.Context, key string, read, next authrow.Window) (current authrow.Window, swapped bool, err error) {
	put := &dynamodb.PutItemInput{
		TableName:                           &s.Auth,
		Item:                                windowRow(key, next),
		ConditionExpression:                 aws.String("attribute_not_exists(pk)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	if len(read) > 0 {
		put.ConditionExpression = aws.String("passes = :read")
		put.ExpressionAttributeValues = Item{":read": packWindow(read)}
	}
	err = repeat(ctx, func() error {
		_, err := s.Client.PutItem(ctx, put)
		return err
	})
	if failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return readWindow(failed.Item), false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("count a token request: %w", err)
	}
	return next, true, nil
}

// TakePlace takes a slot of a rate limit if it is unused since the instant. Otherwise taken
// is false and current contains all slots. The slot contains p if a repeated write had
// succeeded before.
func (s *AuthStore) TakePlace(ctx context.Context, key string, place int, p authrow.Pass, since time.Time) (current authrow.Places, taken bool, err error) {
	update := &dynamodb.UpdateItemInput{
		TableName: &s.Auth, Key: rateKey(key),
		UpdateExpression:         aws.String("SET #place = :pass, " + TTL + " = :ttl"),
		ConditionExpression:      aws.String("attribute_not_exists(#place) OR #place < :since"),
		ExpressionAttributeNames: map[string]string{"#place": placeName(place)},
		ExpressionAttributeValues: Item{
			":pass": packPlace(p), ":since": packPlace(authrow.Pass{At: since}), ":ttl": number(p.At.Add(campaign.RateLife).Unix()),
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	err = repeat(ctx, func() error {
		_, err := s.Client.UpdateItem(ctx, update)
		return err
	})
	if failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return readPlaces(failed.Item), false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("count a token request: %w", err)
	}
	return nil, true, nil
}

// PutRefreshToken writes the first token of a family.
func (s *AuthStore) PutRefreshToken(ctx context.Context, t authrow.RefreshToken) error {
	if err := s.putAuth(ctx, refreshRow(t)); err != nil {
		return fmt.Errorf("put refresh token: %w", err)
	}
	return nil
}

func (s *AuthStore) putAuth(ctx context.Context, row Item) error {
	return repeat(ctx, func() error {
		_, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.Auth, Item: row})
		return err
	})
}

// RotateRefreshToken marks the token as used and writes the next one, in one transaction.
// The error wraps campaign.ErrLostRace if the token is used, its family is revoked, or its
// credential was revoked or rotated without overlap. After any other error, the transaction
// may have been committed.
func (s *AuthStore) RotateRefreshToken(ctx context.Context, used, next authrow.RefreshToken, at time.Time) error {
	reasons, err := s.transact(ctx, []types.TransactWriteItem{
		{Update: &types.Update{
			TableName: &s.Auth, Key: refreshKey(used.Hash),
			UpdateExpression:          aws.String("SET usedAt = :at"),
			ConditionExpression:       aws.String("attribute_exists(pk) AND attribute_not_exists(usedAt)"),
			ExpressionAttributeValues: Item{":at": millis(at)},
		}},
		{Put: &types.Put{
			TableName: &s.Auth, Item: refreshRow(next), ConditionExpression: aws.String("attribute_not_exists(pk)"),
		}},
		{ConditionCheck: &types.ConditionCheck{
			TableName: &s.Auth, Key: familyKey(used.Family), ConditionExpression: aws.String("attribute_not_exists(pk)"),
		}},
		s.credentialActiveCheck(used.ClientID, used.Generation),
	}, next.Hash[:32])
	if err != nil {
		return fmt.Errorf("rotate refresh token: %w", err)
	}
	return raceError(reasons)
}

// credentialActiveCheck checks that the credential is not revoked and has the generation.
func (s *AuthStore) credentialActiveCheck(clientID string, generation int) types.TransactWriteItem {
	condition := "attribute_exists(pk) AND attribute_not_exists(revokedAt) AND "
	check := &types.ConditionCheck{TableName: &s.Auth, Key: credentialKey(clientID)}
	if generation == 0 {
		condition += "attribute_not_exists(refreshGeneration)"
	} else {
		condition += "refreshGeneration = :generation"
		check.ExpressionAttributeValues = Item{":generation": number(generation)}
	}
	check.ConditionExpression = &condition
	return types.TransactWriteItem{ConditionCheck: check}
}

// raceError returns campaign.ErrLostRace for a failed condition, and another error for
// repeated transaction conflicts, which can be retried.
func raceError(reasons []types.CancellationReason) error {
	for _, r := range reasons {
		if aws.ToString(r.Code) == reasonCondition {
			return fmt.Errorf("rotate refresh token: %w", campaign.ErrLostRace)
		}
	}
	if len(reasons) > 0 {
		return errors.New("rotate refresh token: too many transaction conflicts")
	}
	return nil
}

// RevokeFamily revokes a family of refresh tokens. until is when the last of them expires.
func (s *AuthStore) RevokeFamily(ctx context.Context, family string, until time.Time) error {
	row := familyKey(family)
	row["revokedAt"] = millis(s.Now())
	row[TTL] = number(until.Unix())
	if err := s.putAuth(ctx, row); err != nil {
		return fmt.Errorf("revoke family of refresh tokens: %w", err)
	}
	return nil
}

func refreshRow(t authrow.RefreshToken) Item {
	row := refreshKey(t.Hash)
	row["family"] = text(t.Family)
	row["clientId"] = text(t.ClientID)
	row["scope"] = text(t.Scope)
	row["validUntil"] = millis(t.Expires)
	if t.Generation > 0 {
		row["generation"] = number(t.Generation)
	}
	row[TTL] = number(t.Expires.Unix() + 1)
	if !t.Used.IsZero() {
		row["usedAt"] = millis(t.Used)
	}
	return row
}

func readRefreshToken(hash string, row Item) authrow.RefreshToken {
	return authrow.RefreshToken{
		Hash:       hash,
		Family:     getText(row, "family"),
		ClientID:   getText(row, "clientId"),
		Scope:      getText(row, "scope"),
		Generation: int(getNumber(row, "generation")),
		Expires:    getMillis(row, "validUntil"),
		Used:       getMillis(row, "usedAt"),
	}
}

// windowRow is the row of a rate limit. A client's own window is kept longer, because it
// also records the last use of the credential.
func windowRow(key string, w authrow.Window) Item {
	row := rateKey(key)
	row["passes"] = packWindow(w)
	life := campaign.RateLife
	if strings.HasPrefix(key, authrow.ClientWindow("")) {
		life = campaign.LastUseLife
	}
	row[TTL] = number(w[len(w)-1].At.Add(life).Unix())
	return row
}

// packWindow encodes a pass in 16 bytes: nanoseconds since 1970, and the ID.
func packWindow(w authrow.Window) attribute {
	b := make([]byte, 0, 16*len(w))
	for _, p := range w {
		b = binary.BigEndian.AppendUint64(b, uint64(p.At.UnixNano()))
		b = binary.BigEndian.AppendUint64(b, p.ID)
	}
	return bytesOf(b)
}

func readWindow(row Item) authrow.Window {
	var w authrow.Window
	for b := getBinary(row, "passes"); len(b) >= 16; b = b[16:] {
		at := int64(binary.BigEndian.Uint64(b)) //nolint:gosec // written by packWindow
		w = append(w, authrow.Pass{At: time.Unix(0, at).UTC(), ID: binary.BigEndian.Uint64(b[8:])})
	}
	return w
}

const placePrefix = "p"

func placeName(i int) string { return placePrefix + strconv.Itoa(i) }

// packPlace encodes a pass as one number: milliseconds since 1970, and the ID in the last
// six digits. 60 of them fit in one write unit.
func packPlace(p authrow.Pass) attribute {
	return number(p.At.UnixMilli()*authrow.PlaceIDs + int64(p.ID%authrow.PlaceIDs))
}

func readPlaces(row Item) (places authrow.Places) {
	for name := range row {
		i, err := strconv.Atoi(strings.TrimPrefix(name, placePrefix))
		if err != nil || i < 0 {
			continue // another attribute
		}
		for len(places) <= i {
			places = append(places, authrow.Pass{})
		}
		n := getNumber(row, name)
		places[i] = authrow.Pass{At: time.UnixMilli(n / authrow.PlaceIDs).UTC(), ID: uint64(n % authrow.PlaceIDs)} //nolint:gosec // written by packPlace
	}
	return places
}
