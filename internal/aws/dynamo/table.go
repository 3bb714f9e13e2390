package dynamo

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdkretry "github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
)

// Tables are the names of the tables, and the client that reads and writes them.
type Tables struct {
	Client    *dynamodb.Client
	Auth      string
	Campaigns string
	Outcomes  string
	Webhooks  string
	// MediaURL is the address of uploaded files, without a trailing slash. If it is empty,
	// templates are saved without a check of the files that they show.
	MediaURL string
	Now      func() time.Time
}

// FromEnv returns the tables AUTH_TABLE, CAMPAIGNS_TABLE, OUTCOMES_TABLE and
// WEBHOOKS_TABLE. MEDIA_URL is the address of uploaded files.
func FromEnv(client *dynamodb.Client, env func(string) string, now func() time.Time) Tables {
	return Tables{
		Client: dynamodb.New(client.Options(), retryConflicts), Auth: env("AUTH_TABLE"), Campaigns: env("CAMPAIGNS_TABLE"),
		Outcomes: env("OUTCOMES_TABLE"), Webhooks: env("WEBHOOKS_TABLE"),
		MediaURL: env("MEDIA_URL"), Now: now,
	}
}

// retryConflicts repeats a write of one row that a transaction changes at the same time. The SDK does not.
func retryConflicts(o *dynamodb.Options) {
	o.Retryer = sdkretry.AddWithErrorCodes(o.Retryer, (*types.TransactionConflictException)(nil).ErrorCode())
}

// table has the operations that the stores share. Those without a table name are on the
// Campaigns table. "doing" is what the error begins with.
type table struct{ Tables }

type rowKey struct {
	table string
	key   Item
}

// id identifies a row in the response of BatchGetItem.
func (k rowKey) id() string { return k.table + "|" + getText(k.key, "pk") + "|" + getText(k.key, "sk") }

// wantedKey is the key of a part of a query that is wanted or not.
type wantedKey struct {
	part   string
	wanted bool
	table  string
	key    Item
}

func wantedKeys(all []wantedKey) map[string]rowKey {
	keys := map[string]rowKey{}
	for _, k := range all {
		if k.wanted {
			keys[k.part] = rowKey{k.table, k.key}
		}
	}
	return keys
}

// get reads a row consistently. The error wraps campaign.ErrNotFound if it does not exist, and
// campaign.ErrExpired if it has expired.
func (t *table) get(ctx context.Context, doing string, key Item) (Item, error) {
	return t.getFrom(ctx, doing, t.Campaigns, key)
}

func (t *table) getFrom(ctx context.Context, doing, table string, key Item) (Item, error) {
	out, err := t.Client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: key, ConsistentRead: aws.Bool(true)})
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", doing, err)
	case len(out.Item) == 0:
		return nil, fmt.Errorf("%s: %w", doing, campaign.ErrNotFound)
	case t.unexpiredRow(out.Item) == nil:
		return nil, fmt.Errorf("%s: %w", doing, campaign.ErrExpired)
	}
	return out.Item, nil
}

// find is get for a row that need not exist: it is nil then.
func (t *table) find(ctx context.Context, doing string, key Item) (Item, error) {
	row, err := t.get(ctx, doing, key)
	return row, campaign.IgnoreNotFound(err)
}

// rows reads rows consistently, by name, see batchGet.
func (t *table) rows(ctx context.Context, doing string, keys map[string]Item) (map[string]Item, error) {
	return t.rowsFrom(ctx, doing, t.Campaigns, keys)
}

// rowsOf is rows for the rows of IDs, by ID.
func (t *table) rowsOf(ctx context.Context, doing, table string, ids []string, key func(id string) Item) (map[string]Item, error) {
	keys := make(map[string]Item, len(ids))
	for _, id := range ids {
		keys[id] = key(id)
	}
	return t.rowsFrom(ctx, doing, table, keys)
}

// rowsFrom is rows for any table and for the given attributes.
func (t *table) rowsFrom(
	ctx context.Context, doing, table string, keys map[string]Item, attributes ...string,
) (map[string]Item, error) {
	named := make(map[string]Item, len(keys))
	for names := range slices.Chunk(slices.Collect(maps.Keys(keys)), perBatchGet) {
		wanted := make(map[string]rowKey, len(names))
		for _, name := range names {
			wanted[name] = rowKey{table, keys[name]}
		}
		rows, err := t.batchGet(ctx, wanted, withEnd(attributes)...)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", doing, err)
		}
		for name, key := range wanted {
			if row := t.unexpiredRow(rows[key.id()]); row != nil {
				named[name] = row
			}
		}
	}
	return named, nil
}

// perBatchGet is the maximum number of keys in a call of BatchGetItem.
const perBatchGet = 100

// batchGet reads rows of any table consistently. It returns the existing rows by rowKey.id.
// Unprocessed keys are requested again. If attributes are given, it reads only these and
// the key.
func (t *table) batchGet(ctx context.Context, keys map[string]rowKey, attributes ...string) (map[string]Item, error) {
	wanted := map[string]types.KeysAndAttributes{}
	if len(attributes) > 0 {
		attributes = append([]string{"pk", "sk"}, attributes...) // which identify the row
	}
	expression := projection(attributes)
	names := namesIn(aws.ToString(expression))
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

// query reads all rows that match a key condition, consistently and in order. If attributes are
// given, it reads only these.
func (t *table) query(ctx context.Context, doing, condition string, values Item, attributes ...string) ([]Item, error) {
	return t.queryIn(ctx, doing, t.Campaigns, condition, values, attributes...)
}

func (t *table) queryIn(ctx context.Context, doing, table, condition string, values Item, attributes ...string) ([]Item, error) {
	in := queryOf(table, condition, values, withEnd(attributes)...)
	in.ConsistentRead = aws.Bool(true)
	var rows []Item
	for row, err := range t.each(ctx, doing, in) {
		if err != nil {
			return nil, err
		}
		if t.unexpiredRow(row) != nil {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// newest reads up to limit rows of a partition before a sort key, those with the last sort keys first.
func (t *table) newest(ctx context.Context, doing, table string, pk, before attribute, limit int, attributes ...string) ([]Item, error) {
	in := newestOf(table, "pk = :pk AND sk < :before", Item{":pk": pk, ":before": before}, limit, attributes...)
	out, err := t.Client.Query(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return t.unexpiredRows(out.Items), nil
}

// newestOf returns a query of up to limit rows, those with the last sort keys first.
func newestOf(table, condition string, values Item, limit int, attributes ...string) *dynamodb.QueryInput {
	in := queryOf(table, condition, values, withEnd(attributes)...)
	in.ScanIndexForward, in.Limit = aws.Bool(false), aws.Int32(int32(limit)) //nolint:gosec // some hundreds
	return in
}

// queryOf returns a query of the given attributes, of all if there are none.
func queryOf(table, condition string, values Item, attributes ...string) *dynamodb.QueryInput {
	expression := projection(attributes)
	return &dynamodb.QueryInput{
		TableName: &table, KeyConditionExpression: &condition, ExpressionAttributeValues: values,
		ProjectionExpression: expression, ExpressionAttributeNames: namesIn(condition, aws.ToString(expression)),
	}
}

// each yields the rows of a query. The sequence ends at the first error.
func (t *table) each(ctx context.Context, doing string, in *dynamodb.QueryInput) iter.Seq2[Item, error] {
	return eachIn(ctx, doing, dynamodb.NewQueryPaginator(t.Client, in), func(page *dynamodb.QueryOutput) []Item { return page.Items })
}

// pager is a paginator of the SDK.
type pager[P any] interface {
	HasMorePages() bool
	NextPage(ctx context.Context, options ...func(*dynamodb.Options)) (P, error)
}

func eachIn[P any](ctx context.Context, doing string, pages pager[P], itemsOf func(page P) []Item) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(nil, fmt.Errorf("%s: %w", doing, err))
				return
			}
			for _, row := range itemsOf(page) {
				if !yield(row, nil) {
					return
				}
			}
		}
	}
}

// decoded decodes the rows of a sequence. It ends at the first error.
func decoded[T any](rows iter.Seq2[Item, error], read func(row Item) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for row, err := range rows {
			var value T
			if err == nil {
				value, err = read(row)
			}
			if !yield(value, err) || err != nil {
				return
			}
		}
	}
}

// projection returns a projection expression of the attributes, nil for none: nil reads
// all.
func projection(attributes []string) *string {
	if len(attributes) == 0 {
		return nil
	}
	return aws.String("#" + strings.Join(slices.Compact(slices.Sorted(slices.Values(attributes))), ", #"))
}

// under reads the rows of a partition whose sort keys have the prefix.
func (t *table) under(ctx context.Context, pk, prefix string) ([]Item, error) {
	return t.query(ctx, fmt.Sprintf("list the rows %s*", prefix), "pk = :pk AND begins_with(sk, :prefix)",
		Item{":pk": text(pk), ":prefix": text(prefix)})
}

// list is under that passes each row and the rest of its sort key to read.
func list[T any](ctx context.Context, t *table, pk, prefix string, read func(id string, row Item) T) ([]T, error) {
	rows, err := t.under(ctx, pk, prefix)
	if err != nil {
		return nil, err
	}
	return readAll(rows, func(row Item) T { return read(strings.TrimPrefix(getText(row, "sk"), prefix), row) }), nil
}

// readAll reads rows as values.
func readAll[T any](rows []Item, read func(row Item) T) []T {
	values := make([]T, len(rows))
	for i, row := range rows {
		values[i] = read(row)
	}
	return values
}

// unexpiredRow returns the row, or nil if it has expired.
func (t *table) unexpiredRow(row Item) Item {
	if end := getEnd(row); !end.IsZero() && !end.After(t.Now()) {
		return nil
	}
	return row
}

func (t *table) unexpiredRows(rows []Item) []Item {
	return slices.DeleteFunc(rows, func(row Item) bool { return t.unexpiredRow(row) == nil })
}

// withEnd adds the TTL to the attributes to read. No attributes mean all.
func withEnd(attributes []string) []string {
	if len(attributes) == 0 {
		return nil
	}
	return append([]string{TTL}, attributes...)
}
