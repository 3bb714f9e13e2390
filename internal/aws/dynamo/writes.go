package dynamo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/pattern"
)

// A write is a types.TransactWriteItem, also outside a transaction. It is on the Campaigns table
// unless inTable names another one. An empty condition is none.

const (
	absent  = "attribute_not_exists(pk)"
	present = "attribute_exists(pk)"
)

func (t *table) put(row Item) types.TransactWriteItem { return t.putIf(row, "", nil) }

func (t *table) putNew(row Item) types.TransactWriteItem { return t.putIf(row, absent, nil) }

func (t *table) putIfAbsentOrExpired(row Item) types.TransactWriteItem {
	return t.putIf(row, absent+" OR "+TTL+" <= :now", Item{":now": number(t.Now().Unix())})
}

// putAfter puts a row if the attribute has the value that was read, 0 for a new row.
func (t *table) putAfter(row Item, attribute string, read int) types.TransactWriteItem {
	if read == 0 {
		return t.putNew(row)
	}
	return t.putIf(row, "#"+attribute+" = :read", Item{":read": number(read)})
}

func (t *table) putIf(row Item, condition string, values Item) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{
		TableName: &t.Campaigns, Item: row, ConditionExpression: unlessEmpty(condition),
		ExpressionAttributeNames: namesIn(condition), ExpressionAttributeValues: used(values),
	}}
}

func (t *table) update(key Item, update, condition string, values Item) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &t.Campaigns, Key: key, UpdateExpression: &update, ConditionExpression: unlessEmpty(condition),
		ExpressionAttributeNames: namesIn(update, condition), ExpressionAttributeValues: used(values),
	}}
}

func (t *table) remove(key Item) types.TransactWriteItem { return t.removeIf(key, "", nil) }

func (t *table) removeIf(key Item, condition string, values Item) types.TransactWriteItem {
	return types.TransactWriteItem{Delete: &types.Delete{
		TableName: &t.Campaigns, Key: key, ConditionExpression: unlessEmpty(condition),
		ExpressionAttributeNames: namesIn(condition), ExpressionAttributeValues: used(values),
	}}
}

func (t *table) check(key Item, condition string, values Item) types.TransactWriteItem {
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: &t.Campaigns, Key: key, ConditionExpression: &condition,
		ExpressionAttributeNames: namesIn(condition), ExpressionAttributeValues: used(values),
	}}
}

// inTable is a write to another table.
func inTable(table string, w types.TransactWriteItem) types.TransactWriteItem {
	switch {
	case w.Put != nil:
		w.Put.TableName = &table
	case w.Update != nil:
		w.Update.TableName = &table
	case w.Delete != nil:
		w.Delete.TableName = &table
	default:
		w.ConditionCheck.TableName = &table
	}
	return w
}

func unlessEmpty(condition string) *string {
	if condition == "" {
		return nil
	}
	return &condition
}

var placeholder = pattern.AtFirstUse(`#\w+`)

// used returns the values, nil for none: DynamoDB rejects an empty map.
func used(values Item) Item {
	if len(values) == 0 {
		return nil
	}
	return values
}

// namesIn returns the attributes of the names with # in expressions, nil for none.
func namesIn(expressions ...string) (names map[string]string) {
	for _, expression := range expressions {
		for _, name := range placeholder().FindAllString(expression, -1) {
			if names == nil {
				names = map[string]string{}
			}
			names[name] = name[1:]
		}
	}
	return names
}

// assign returns the assignments of attributes in an update expression, and adds their values.
func assign(attributes, values Item) string {
	sets := make([]string, 0, len(attributes))
	for name, value := range attributes {
		sets = append(sets, "#"+name+" = :"+name)
		values[":"+name] = value
	}
	return strings.Join(sets, ", ")
}

// write makes one write, and reports whether its condition held.
func (t *table) write(ctx context.Context, doing string, w types.TransactWriteItem) (held bool, err error) {
	_, held, err = conditionHeld(doing, t.send(ctx, w, ""))
	return held, err
}

// tryWrite is write for a condition that may fail.
func (t *table) tryWrite(ctx context.Context, doing string, w types.TransactWriteItem) error {
	_, err := t.write(ctx, doing, w)
	return err
}

// mustWrite is write with an error for a failed condition.
func (t *table) mustWrite(ctx context.Context, doing string, w types.TransactWriteItem, refused error) error {
	held, err := t.write(ctx, doing, w)
	if err == nil && !held {
		err = fmt.Errorf("%s: %w", doing, refused)
	}
	return err
}

// writeOrRead is write that returns the row for which the condition failed.
func (t *table) writeOrRead(
	ctx context.Context, doing string, w types.TransactWriteItem, options ...func(*dynamodb.Options),
) (there Item, held bool, err error) {
	return conditionHeld(doing, t.send(ctx, w, types.ReturnValuesOnConditionCheckFailureAllOld, options...))
}

// repeatWrite is writeOrRead that is repeated after a lost response.
func (t *table) repeatWrite(ctx context.Context, doing string, w types.TransactWriteItem) (there Item, held bool, err error) {
	err = repeat(ctx, func() (err error) { there, held, err = t.writeOrRead(ctx, doing, w); return err })
	return there, held, err
}

func (t *table) send(
	ctx context.Context, w types.TransactWriteItem, failed types.ReturnValuesOnConditionCheckFailure, options ...func(*dynamodb.Options),
) (err error) {
	switch put, update, remove := w.Put, w.Update, w.Delete; {
	case put != nil:
		_, err = t.Client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: put.TableName, Item: put.Item, ConditionExpression: put.ConditionExpression,
			ExpressionAttributeNames: put.ExpressionAttributeNames, ExpressionAttributeValues: put.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: failed,
		}, options...)
	case update != nil:
		_, err = t.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: update.TableName, Key: update.Key,
			UpdateExpression: update.UpdateExpression, ConditionExpression: update.ConditionExpression,
			ExpressionAttributeNames: update.ExpressionAttributeNames, ExpressionAttributeValues: update.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: failed,
		}, options...)
	case remove != nil:
		_, err = t.Client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			TableName: remove.TableName, Key: remove.Key, ConditionExpression: remove.ConditionExpression,
			ExpressionAttributeNames: remove.ExpressionAttributeNames, ExpressionAttributeValues: remove.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: failed,
		}, options...)
	default:
		err = errors.New("a condition alone is no write")
	}
	return err
}

// conditionHeld distinguishes a failed condition from other errors.
func conditionHeld(doing string, err error) (there Item, held bool, _ error) {
	if failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return failed.Item, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", doing, err)
	}
	return nil, true, nil
}

// writeAll commits the items in one transaction. The error wraps campaign.ErrLostRace if a
// condition failed.
func (t *table) writeAll(ctx context.Context, doing string, items ...types.TransactWriteItem) error {
	return t.writeAllAs(ctx, doing, rand.Text(), items...)
}

// writeAllAs is writeAll for the token of a transaction, see transact.
func (t *table) writeAllAs(ctx context.Context, doing, token string, items ...types.TransactWriteItem) error {
	reasons, err := t.transact(ctx, items, token)
	if err == nil && len(reasons) > 0 {
		err = campaign.ErrLostRace
	}
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// Attempts after concurrent edits, and after concurrent additions.
const (
	maxEdits     = 50
	maxAdditions = 100
)

// final is an error of a change that is not repeated, also if it wraps campaign.ErrLostRace.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

// untilDecided repeats a change while it loses races, up to a number of tries.
func untilDecided(ctx context.Context, doing string, tries int, change func(try int) error) (err error) {
	for try := range tries {
		if err := retry.Wait(ctx, try); err != nil {
			return fmt.Errorf("%s: %w", doing, err)
		}
		err = change(try)
		if _, ends := errors.AsType[final](err); ends || !errors.Is(err, campaign.ErrLostRace) {
			return err
		}
	}
	return err
}
