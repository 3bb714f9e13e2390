package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/send/outgoing"
)

// Batch reads a batch consistently. The error wraps campaign.ErrNotFound if it does not
// exist. Only a waiting batch above campaign.MovedAtOnce also reads its campaign.
func (s *BatchStore) Batch(ctx context.Context, ref campaign.BatchRef) (campaign.Batch, error) {
	row, err := s.get(ctx, batchKey(ref))
	if err != nil {
		return campaign.Batch{}, fmt.Errorf("read batch %s: %w", ref.BatchID, err)
	}
	b, err := readBatch(ref, row)
	if err != nil || b.State != campaign.BatchPending || b.Ordinal <= campaign.MovedAtOnce {
		return b, err
	}
	meta, err := s.get(ctx, metaKey(ref.ID))
	if err != nil && !errors.Is(err, campaign.ErrNotFound) {
		return b, fmt.Errorf("read the campaign of batch %s: %w", ref.BatchID, err)
	}
	return readMove(meta).Applied(b), nil
}

// TemplateVersion reads a template version, which is immutable. The error wraps
// campaign.ErrNotFound if it does not exist.
func (s *TemplateStore) TemplateVersion(ctx context.Context, id string, version int) (campaign.Template, error) {
	row, err := s.get(ctx, templateVersionKey(id, version))
	if err != nil {
		return campaign.Template{}, fmt.Errorf("read version %d of template %s: %w", version, id, err)
	}
	return readTemplate(id, row)
}

// Route reads a tenant's route for an agent. Without an existing agent, it is paused.
func (s *LaneStore) Route(ctx context.Context, tenantID, agentID string) (outgoing.Route, error) {
	rows, err := s.campaignRows(ctx, channelKeys(tenantID, agentID))
	if err != nil {
		return outgoing.Route{}, fmt.Errorf("read agent %s of tenant %s: %w", agentID, tenantID, err)
	}
	return readRoute(agentID, rows), nil
}

func channelKeys(tenantID, agentID string) map[string]Item {
	keys := map[string]Item{"all": pauseKey("all"), "tenant": pauseKey("tenant#" + tenantID)}
	if agentID != "" {
		keys["row"], keys["pace"], keys["agent"] = agentKey(agentID), rateLimitKey(agentID), pauseKey("agent#"+agentID)
	}
	return keys
}

// readRoute reads the rows of channelKeys.
func readRoute(agentID string, rows map[string]Item) outgoing.Route {
	route := outgoing.Route{Agent: readAgent(agentID, rows["row"]), RateLimit: readRateLimit(rows["pace"])}
	for _, subject := range []string{"agent", "tenant", "all"} {
		if rows[subject] != nil {
			route.Pause = subject
		}
	}
	if route.Pause == "" && rows["row"] == nil {
		route.Pause = "no_agent"
	}
	return route
}

// RateLimit reads an agent's rate limit consistently.
func (s *LaneStore) RateLimit(ctx context.Context, agentID string) (outgoing.RateLimit, error) {
	row, err := s.get(ctx, rateLimitKey(agentID))
	if err != nil && !errors.Is(err, campaign.ErrNotFound) {
		return outgoing.RateLimit{}, fmt.Errorf("read rate limit of agent %s: %w", agentID, err)
	}
	return readRateLimit(row), nil
}

// SwapRateLimit replaces an agent's rate limit if it is unchanged since it was read, and
// reports whether it did. After a lost response, it can report false although it succeeded.
func (s *LaneStore) SwapRateLimit(ctx context.Context, agentID string, old, rateLimit outgoing.RateLimit) (bool, error) {
	condition := "everyMicros = :every AND nextAt = :next AND attribute_not_exists(lanes)"
	values := Item{":every": number(old.Every.Microseconds()), ":next": millis(old.Next)}
	if old.Lanes != "" {
		condition = "everyMicros = :every AND nextAt = :next AND lanes = :lanes"
		values[":lanes"] = bytesOf([]byte(old.Lanes))
	}
	if old == (outgoing.RateLimit{}) {
		condition += " OR attribute_not_exists(pk)"
	}
	_, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &s.Campaigns, Item: rateLimitRow(agentID, rateLimit),
		ConditionExpression: &condition, ExpressionAttributeValues: values,
	})
	return conditionHeld(err, "write rate limit of agent "+agentID)
}

func rateLimitRow(agentID string, p outgoing.RateLimit) Item {
	row := rateLimitKey(agentID)
	row["everyMicros"] = number(p.Every.Microseconds())
	row["nextAt"] = millis(p.Next)
	row["slowedAt"] = millis(p.SlowedAt)
	if p.Lanes != "" {
		row["lanes"] = bytesOf([]byte(p.Lanes))
	}
	return row
}

func readRateLimit(row Item) outgoing.RateLimit {
	return outgoing.RateLimit{
		Every:    time.Duration(getNumber(row, "everyMicros")) * time.Microsecond,
		Next:     getMillis(row, "nextAt"),
		SlowedAt: getMillis(row, "slowedAt"),
		Lanes:    outgoing.Lanes(getBinary(row, "lanes")),
	}
}
