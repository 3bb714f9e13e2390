package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/campaign"
)

// Batch reads a batch consistently. The error wraps campaign.ErrNotFound if it does not
// exist.
func (s *Store) Batch(ctx context.Context, ref campaign.BatchRef) (campaign.Batch, error) {
	row, err := s.get(ctx, batchKey(ref))
	if err != nil {
		return campaign.Batch{}, fmt.Errorf("read batch %s: %w", ref.BatchID, err)
	}
	return readBatch(ref, row)
}

// TemplateVersion reads a template version, which is immutable. The error wraps
// campaign.ErrNotFound if it does not exist.
func (s *Store) TemplateVersion(ctx context.Context, id string, version int) (campaign.Template, error) {
	row, err := s.get(ctx, templateVersionKey(id, version))
	if err != nil {
		return campaign.Template{}, fmt.Errorf("read version %d of template %s: %w", version, id, err)
	}
	return readTemplate(id, row)
}

// Channel reads a tenant's channel for an agent. Without an existing agent, it is paused.
func (s *Store) Channel(ctx context.Context, tenantID, agentID string) (campaign.Channel, error) {
	keys := map[string]Item{"all": pauseKey("all"), "tenant": pauseKey("tenant#" + tenantID)}
	if agentID != "" {
		keys["row"], keys["pace"], keys["agent"] = agentKey(agentID), rateLimitKey(agentID), pauseKey("agent#"+agentID)
	}
	rows, err := s.campaignRows(ctx, keys)
	if err != nil {
		return campaign.Channel{}, fmt.Errorf("read agent %s of tenant %s: %w", agentID, tenantID, err)
	}
	channel := campaign.Channel{Agent: readAgent(agentID, rows["row"]), RateLimit: readRateLimit(rows["pace"])}
	for _, subject := range []string{"agent", "tenant", "all"} {
		if rows[subject] != nil {
			channel.Pause = subject
		}
	}
	if channel.Pause == "" && rows["row"] == nil {
		channel.Pause = "no_agent"
	}
	return channel, nil
}

// RateLimit reads an agent's rate limit consistently.
func (s *Store) RateLimit(ctx context.Context, agentID string) (campaign.RateLimit, error) {
	row, err := s.get(ctx, rateLimitKey(agentID))
	if err != nil && !errors.Is(err, campaign.ErrNotFound) {
		return campaign.RateLimit{}, fmt.Errorf("read rate limit of agent %s: %w", agentID, err)
	}
	return readRateLimit(row), nil
}

// SwapRateLimit replaces an agent's rate limit if it is unchanged since it was read, and
// reports whether it did. After a lost response, it can report false although it succeeded.
func (s *Store) SwapRateLimit(ctx context.Context, agentID string, old, rateLimit campaign.RateLimit) (bool, error) {
	condition := "everyMicros = :every AND nextAt = :next AND attribute_not_exists(lanes)"
	values := Item{":every": number(old.Every.Microseconds()), ":next": millis(old.Next)}
	if old.Lanes != "" {
		condition = "everyMicros = :every AND nextAt = :next AND lanes = :lanes"
		values[":lanes"] = bytesOf([]byte(old.Lanes))
	}
	if old == (campaign.RateLimit{}) {
		condition += " OR attribute_not_exists(pk)"
	}
	_, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &s.Campaigns, Item: rateLimitRow(agentID, rateLimit),
		ConditionExpression: &condition, ExpressionAttributeValues: values,
	})
	return held(err, "write rate limit of agent "+agentID)
}

func rateLimitRow(agentID string, p campaign.RateLimit) Item {
	row := rateLimitKey(agentID)
	row["everyMicros"] = number(p.Every.Microseconds())
	row["nextAt"] = millis(p.Next)
	row["slowedAt"] = millis(p.SlowedAt)
	if p.Lanes != "" {
		row["lanes"] = bytesOf([]byte(p.Lanes))
	}
	return row
}

func readRateLimit(row Item) campaign.RateLimit {
	return campaign.RateLimit{
		Every:    time.Duration(getNumber(row, "everyMicros")) * time.Microsecond,
		Next:     getMillis(row, "nextAt"),
		SlowedAt: getMillis(row, "slowedAt"),
		Lanes:    campaign.Lanes(getBinary(row, "lanes")),
	}
}

// get reads a row of the Campaigns table consistently. The error is campaign.ErrNotFound if
// it does not exist, and campaign.ErrEnded if it has expired.
func (s *Store) get(ctx context.Context, key Item) (Item, error) {
	return s.getFrom(ctx, s.Campaigns, key)
}

// getFrom is get for another table.
func (s *Store) getFrom(ctx context.Context, table string, key Item) (Item, error) {
	out, err := s.Client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &table, Key: key, ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, err
	}
	if len(out.Item) == 0 {
		return nil, campaign.ErrNotFound
	}
	if s.alive(out.Item) == nil {
		return nil, campaign.ErrEnded
	}
	return out.Item, nil
}

// campaignRows reads rows of the Campaigns table consistently, by name, see batchGet.
func (s *Store) campaignRows(ctx context.Context, keys map[string]Item) (map[string]Item, error) {
	return s.rowsFrom(ctx, s.Campaigns, keys)
}

// rowsFrom is campaignRows for any table and for the given attributes.
func (s *Store) rowsFrom(ctx context.Context, table string, keys map[string]Item, attributes ...string) (map[string]Item, error) {
	wanted := make(map[string]rowKey, len(keys))
	for name, key := range keys {
		wanted[name] = rowKey{table, key}
	}
	rows, err := s.batchGet(ctx, wanted, withEnd(attributes)...)
	if err != nil {
		return nil, err
	}
	named := make(map[string]Item, len(rows))
	for name, key := range wanted {
		if row := s.alive(rows[key.id()]); row != nil {
			named[name] = row
		}
	}
	return named, nil
}

// query reads all rows of the Campaigns table that match a key condition, consistently and
// in order.
func (s *Store) query(ctx context.Context, condition string, values Item) ([]Item, error) {
	return s.queryFor(ctx, condition, values)
}

// queryFor is query for the given attributes.
func (s *Store) queryFor(ctx context.Context, condition string, values Item, attributes ...string) ([]Item, error) {
	return s.queryIn(ctx, s.Campaigns, condition, values, attributes...)
}

// queryIn is queryFor for another table.
func (s *Store) queryIn(ctx context.Context, table, condition string, values Item, attributes ...string) ([]Item, error) {
	expression, names := projection(withEnd(attributes))
	pages := dynamodb.NewQueryPaginator(s.Client, &dynamodb.QueryInput{
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
		rows = append(rows, s.live(page.Items)...)
	}
	return rows, nil
}

// held reports whether the condition of a write held. Errors other than a failed condition
// are returned with the operation.
func held(err error, doing string) (bool, error) {
	if failed := (*types.ConditionalCheckFailedException)(nil); errors.As(err, &failed) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", doing, err)
	}
	return true, nil
}
