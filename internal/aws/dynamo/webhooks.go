package dynamo

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/sweep/overdue"
	"campaign-dispatch/internal/webhook/delivery"
)

// The Webhooks table contains:
//
//	W#id                       DELIVERY#tenant#endpoint  a delivery
//	FAILURES#tenant#endpoint   instant#webhook           a failed post
//	POSTS#tenant#endpoint      instant#webhook           a kept post
//	STATS#tenant               hour                      the posts to the tenant's endpoints

// DeliveryShards is the number of DueIndex shards of the Webhooks table. The parked and
// dead deliveries of each endpoint use as many, so that an endpoint that is down causes no
// hot partition.
const DeliveryShards = 16

// deliveryDue returns the DueIndex partition key of a delivery: a shard, or a key of its
// endpoint.
func deliveryDue(n delivery.Delivery) string {
	shard := int(hashOf(n.ID) % DeliveryShards)
	switch {
	case n.Dead:
		return shardOf(deadPrefix, n.Tenant, n.EndpointID, shard)
	case n.Parked:
		return shardOf(parkedPrefix, n.Tenant, n.EndpointID, shard)
	}
	return strconv.Itoa(shard)
}

// shardOf returns the DueIndex partition key of an endpoint's parked or dead deliveries.
func shardOf(prefix, tenant, endpointID string, shard int) string {
	return prefix + tenant + "#" + endpointID + "#" + strconv.Itoa(shard)
}

// DueDeliveries yields the due deliveries of one of DeliveryShards, the longest overdue
// first. The index is eventually consistent, so items may have changed. The sequence ends
// at the first error.
func (s *DeliveryStore) DueDeliveries(ctx context.Context, shard int, now time.Time) iter.Seq2[overdue.Item, error] {
	pages := dynamodb.NewQueryPaginator(s.Client, s.deliveriesQuery(strconv.Itoa(shard), "#due = :due AND nextCheck <= :at", now))
	return func(yield func(overdue.Item, error) bool) {
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(overdue.Item{}, fmt.Errorf("read due deliveries of shard %d: %w", shard, err))
				return
			}
			for _, row := range page.Items {
				task, ok := readDeliveryKey(row)
				if ok && !yield(overdue.Item{Delivery: &task, Check: getMillis(row, "nextCheck")}, nil) {
					return
				}
			}
		}
	}
}

func (s *DeliveryStore) deliveriesQuery(due, condition string, at time.Time) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName: &s.Webhooks, IndexName: aws.String(DueIndex), KeyConditionExpression: &condition,
		ExpressionAttributeNames:  map[string]string{"#due": "due"},
		ExpressionAttributeValues: Item{":due": text(due), ":at": millis(at)},
	}
}

// deliveriesUnder returns up to limit deliveries of an endpoint whose index key has the
// prefix and whose next check is at or after since, ordered by next check.
func (s *DeliveryStore) deliveriesUnder(ctx context.Context, prefix, tenant, endpointID string, since time.Time, limit int) ([]delivery.NotifyTask, error) {
	var found [DeliveryShards][]Item
	group, ctx := errgroup.WithContext(ctx)
	for shard := range found {
		group.Go(func() error {
			query := s.deliveriesQuery(shardOf(prefix, tenant, endpointID, shard), "#due = :due AND nextCheck >= :at", since)
			query.Limit = aws.Int32(int32(limit)) //nolint:gosec // some hundreds
			out, err := s.Client.Query(ctx, query)
			if err == nil {
				found[shard] = out.Items
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("read deliveries of endpoint %s: %w", endpointID, err)
	}
	return firstTasks(slices.Concat(found[:]...), limit), nil
}

// firstTasks returns the tasks with the earliest next checks.
func firstTasks(rows []Item, limit int) []delivery.NotifyTask {
	slices.SortStableFunc(rows, func(a, b Item) int { return cmp.Compare(getNumber(a, "nextCheck"), getNumber(b, "nextCheck")) })
	tasks := make([]delivery.NotifyTask, 0, min(limit, len(rows)))
	for _, row := range rows[:min(limit, len(rows))] {
		if task, ok := readDeliveryKey(row); ok {
			tasks = append(tasks, task)
		}
	}
	return tasks
}
