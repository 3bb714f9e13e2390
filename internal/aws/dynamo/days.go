package dynamo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/campaign"
)

// The DAYS rows of a tenant contain the results of its messages by day. Every write of a row
// raises its version.

func dayKey(tenant, date string) Item {
	return Item{"pk": text("DAYS#" + tenant), "sk": text(date)}
}

// dayNames are the names of the attributes of a day's counts and what they count.
var dayNames = []struct {
	name string
	of   func(c *campaign.DayCounts) *int
}{
	{"sent", func(c *campaign.DayCounts) *int { return &c.Sent }},
	{"delivered", func(c *campaign.DayCounts) *int { return &c.Delivered }},
	{"read", func(c *campaign.DayCounts) *int { return &c.Read }},
	{"failed", func(c *campaign.DayCounts) *int { return &c.Failed }},
	{"optedOut", func(c *campaign.DayCounts) *int { return &c.OptedOut }},
}

// AddDay adds counts to those of a tenant's day.
func (s *DayStore) AddDay(ctx context.Context, tenant, date string, counts campaign.DayCounts) error {
	add, names, values := []string{"#version :one"}, map[string]string{"#version": "version", "#ttl": TTL}, Item{":one": number(1), ":ttl": s.dayEnd(date)}
	for _, n := range dayNames {
		if change := *n.of(&counts); change != 0 {
			add = append(add, "#"+n.name+" :"+n.name)
			names["#"+n.name], values[":"+n.name] = n.name, number(change)
		}
	}
	_, err := s.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.Campaigns, Key: dayKey(tenant, date),
		UpdateExpression:         aws.String("ADD " + strings.Join(add, ", ") + " SET #ttl = :ttl"),
		ExpressionAttributeNames: names, ExpressionAttributeValues: values,
	})
	if err != nil {
		return fmt.Errorf("count the results of tenant %s: %w", tenant, err)
	}
	return nil
}

// dayEnd returns the TTL of a day's row.
func (s *DayStore) dayEnd(date string) attribute {
	day, err := time.Parse(time.DateOnly, date)
	if err != nil {
		day = s.Now()
	}
	return number(day.Add(campaign.DayLife).Unix())
}

// Days returns the days of a tenant between two dates that have counts, in order, both
// dates included.
func (s *DayStore) Days(ctx context.Context, tenant, from, to string) ([]campaign.Day, error) {
	rows, err := s.query(ctx, "pk = :pk AND sk BETWEEN :from AND :to", Item{":pk": dayKey(tenant, from)["pk"], ":from": text(from), ":to": text(to)})
	if err != nil {
		return nil, fmt.Errorf("read the days of tenant %s: %w", tenant, err)
	}
	days := make([]campaign.Day, len(rows))
	for i, row := range rows {
		days[i] = campaign.Day{Date: getText(row, "sk"), Version: int(getNumber(row, "version"))}
		for _, n := range dayNames {
			*n.of(&days[i].DayCounts) = int(getNumber(row, n.name))
		}
	}
	return days, nil
}

// SetDay replaces the counts of a day if its version is the one that was read. It reports
// whether it did.
func (s *DayStore) SetDay(ctx context.Context, tenant string, d campaign.Day) (bool, error) {
	row := dayKey(tenant, d.Date)
	for _, n := range dayNames {
		row[n.name] = number(*n.of(&d.DayCounts))
	}
	row["version"], row[TTL] = number(d.Version+1), s.dayEnd(d.Date)
	put := &dynamodb.PutItemInput{TableName: &s.Campaigns, Item: row, ConditionExpression: aws.String("attribute_not_exists(pk)")}
	if d.Version > 0 {
		put.ConditionExpression = aws.String("version = :version")
		put.ExpressionAttributeValues = Item{":version": number(d.Version)}
	}
	_, err := s.Client.PutItem(ctx, put)
	return conditionHeld(err, "set the results of a day")
}
