package dynamo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
)

type attribute = types.AttributeValue

// Item is a row or its key.
type Item = map[string]types.AttributeValue

// table has the operations that the stores share. Those without a table name are on the
// Campaigns table.
type table struct{ Tables }

// rowKey is the key of a row and its table.
type rowKey struct {
	table string
	key   Item
}

// id identifies a row in the response of BatchGetItem.
func (k rowKey) id() string { return k.table + "|" + getText(k.key, "pk") + "|" + getText(k.key, "sk") }

// get reads a row of the Campaigns table consistently. The error is campaign.ErrNotFound if
// it does not exist, and campaign.ErrExpired if it has expired.
func (t *table) get(ctx context.Context, key Item) (Item, error) {
	return t.getFrom(ctx, t.Campaigns, key)
}

// getFrom is get for another table.
func (t *table) getFrom(ctx context.Context, table string, key Item) (Item, error) {
	out, err := t.Client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &table, Key: key, ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, err
	}
	if len(out.Item) == 0 {
		return nil, campaign.ErrNotFound
	}
	if t.unexpiredRow(out.Item) == nil {
		return nil, campaign.ErrExpired
	}
	return out.Item, nil
}

// campaignRows reads rows of the Campaigns table consistently, by name, see batchGet.
func (t *table) campaignRows(ctx context.Context, keys map[string]Item) (map[string]Item, error) {
	return t.rowsFrom(ctx, t.Campaigns, keys)
}

// rowsFrom is campaignRows for any table and for the given attributes.
func (t *table) rowsFrom(ctx context.Context, table string, keys map[string]Item, attributes ...string) (map[string]Item, error) {
	wanted := make(map[string]rowKey, len(keys))
	for name, key := range keys {
		wanted[name] = rowKey{table, key}
	}
	rows, err := t.batchGet(ctx, wanted, withEnd(attributes)...)
	if err != nil {
		return nil, err
	}
	named := make(map[string]Item, len(rows))
	for name, key := range wanted {
		if row := t.unexpiredRow(rows[key.id()]); row != nil {
			named[name] = row
		}
	}
	return named, nil
}

// batchGet reads rows of any table consistently. It returns the existing rows by rowKey.id.
// Unprocessed keys are requested again. If attributes are given, it reads only these and
// the key.
func (t *table) batchGet(ctx context.Context, keys map[string]rowKey, attributes ...string) (map[string]Item, error) {
	wanted := map[string]types.KeysAndAttributes{}
	if len(attributes) > 0 {
		attributes = append([]string{"pk", "sk"}, attributes...) // which identify the row
	}
	expression, names := projection(attributes)
	for _, k := range keys {
		w := wanted[k.table]
		w.ConsistentRead, w.ProjectionExpression, w.ExpressionAttributeNames = aws.Bool(true), expression, names
		w.Keys = append(w.Keys, k.key)
		wanted[k.table] = w
	}
	rows := make(map[string]Item, len(keys))
	for attempt := 0; len(wanted) > 0; attempt++ {
		out, err := t.Client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: wanted})
		if err != nil {
			return nil, err
		}
		for table, items := range out.Responses {
			for _, item := range items {
				rows[rowKey{table, item}.id()] = item
			}
		}
		if wanted = out.UnprocessedKeys; len(wanted) == 0 {
			break
		}
		if err := retry.Wait(ctx, attempt+1); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// query reads all rows of the Campaigns table that match a key condition, consistently and
// in order.
func (t *table) query(ctx context.Context, condition string, values Item) ([]Item, error) {
	return t.queryFor(ctx, condition, values)
}

// queryFor is query for the given attributes.
func (t *table) queryFor(ctx context.Context, condition string, values Item, attributes ...string) ([]Item, error) {
	return t.queryIn(ctx, t.Campaigns, condition, values, attributes...)
}

// queryIn is queryFor for another table.
func (t *table) queryIn(ctx context.Context, table, condition string, values Item, attributes ...string) ([]Item, error) {
	expression, names := projection(withEnd(attributes))
	pages := dynamodb.NewQueryPaginator(t.Client, &dynamodb.QueryInput{
		TableName: &table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression: &condition, ExpressionAttributeValues: values,
		ProjectionExpression: expression, ExpressionAttributeNames: names,
	})
	var rows []Item
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		rows = append(rows, t.unexpiredRows(page.Items)...)
	}
	return rows, nil
}

// projection returns a projection expression of the attributes, nil for none: nil reads
// all.
func projection(attributes []string) (*string, map[string]string) {
	if len(attributes) == 0 {
		return nil, nil
	}
	names := make(map[string]string, len(attributes))
	for _, a := range attributes {
		names["#"+a] = a
	}
	return aws.String(strings.Join(slices.Sorted(maps.Keys(names)), ", ")), names
}

// list reads the rows of a partition whose sort keys have the prefix. It passes each row
// and the rest of its sort key to read.
func list[T any](ctx context.Context, t *table, pk, prefix string, read func(id string, row Item) T) ([]T, error) {
	rows, err := t.query(ctx, "pk = :pk AND begins_with(sk, :prefix)", Item{":pk": text(pk), ":prefix": text(prefix)})
	if err != nil {
		return nil, fmt.Errorf("list the rows %s*: %w", prefix, err)
	}
	found := make([]T, 0, len(rows))
	for _, row := range rows {
		found = append(found, read(strings.TrimPrefix(getText(row, "sk"), prefix), row))
	}
	return found, nil
}

func (t *table) put(row Item) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{TableName: &t.Campaigns, Item: row}}
}

// assign returns the assignments of attributes in an update expression, with the names that they use,
// and adds their values.
func assign(attributes, values Item) (string, map[string]string) {
	sets, names := make([]string, 0, len(attributes)), make(map[string]string, len(attributes))
	for name, value := range attributes {
		sets = append(sets, "#"+name+" = :"+name)
		names["#"+name], values[":"+name] = name, value
	}
	return strings.Join(sets, ", "), names
}

func (t *table) putNew(row Item) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{
		TableName: &t.Campaigns, Item: row, ConditionExpression: aws.String("attribute_not_exists(pk)"),
	}}
}

// putIfAbsentOrExpired puts a row if there is none or if the existing one has expired.
func (t *table) putIfAbsentOrExpired(row Item) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{
		TableName:                 &t.Campaigns,
		Item:                      row,
		ConditionExpression:       aws.String("attribute_not_exists(pk) OR " + TTL + " <= :now"),
		ExpressionAttributeValues: Item{":now": number(t.Now().Unix())},
	}}
}

func (t *table) remove(key Item) types.TransactWriteItem {
	return types.TransactWriteItem{Delete: &types.Delete{TableName: &t.Campaigns, Key: key}}
}

// writeAll commits the items in one transaction. The error wraps campaign.ErrLostRace if a
// condition failed.
func (t *table) writeAll(ctx context.Context, doing string, items ...types.TransactWriteItem) error {
	reasons, err := t.transact(ctx, items, rand.Text())
	if err == nil && len(reasons) > 0 {
		err = campaign.ErrLostRace
	}
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// conditionHeld reports whether the condition of a write held. Errors other than a failed
// condition are returned with the operation.
func conditionHeld(err error, doing string) (bool, error) {
	if failed := (*types.ConditionalCheckFailedException)(nil); errors.As(err, &failed) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", doing, err)
	}
	return true, nil
}

func withValue(row Item, name string, value attribute) Item {
	row[name] = value
	return row
}

// setEnd sets the TTL of a row. The zero time means no expiry.
func setEnd(row Item, at time.Time) {
	if !at.IsZero() {
		row[TTL] = number(at.Unix())
	}
}

func getEnd(row Item) time.Time {
	if row[TTL] == nil {
		return time.Time{}
	}
	return time.Unix(getNumber(row, TTL), 0).UTC()
}

// unexpiredRow returns the row, or nil if it has expired.
func (t *table) unexpiredRow(row Item) Item {
	if end := getEnd(row); !end.IsZero() && !end.After(t.Now()) {
		return nil
	}
	return row
}

// unexpiredRows removes expired rows.
func (t *table) unexpiredRows(rows []Item) []Item {
	kept := rows[:0]
	for _, row := range rows {
		if t.unexpiredRow(row) != nil {
			kept = append(kept, row)
		}
	}
	return kept
}

// withEnd adds the TTL to the attributes to read. No attributes mean all.
func withEnd(attributes []string) []string {
	if len(attributes) == 0 {
		return nil
	}
	return append([]string{TTL}, attributes...)
}
