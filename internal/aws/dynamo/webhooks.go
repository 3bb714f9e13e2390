package dynamo

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
)

// The Webhooks table holds, each under a partition key of its own:
//
//	W#id                       NOTICE#tenant#endpoint  a delivery that has an ID
//	FAILURES#tenant#endpoint   instant#webhook         a post that was not taken
//	STATS#tenant               hour                    the posts to the tenant's endpoints
//
// The key of a delivery tells all that its task holds, so that the index of what is due
// suffices to write one.

// DeliveryShards is the number of hash keys of the index DueIndex of the Webhooks table
// among which the deliveries that sweep sees are divided. What waits for one endpoint, and
// what is dead of one, is divided among as many, so that an endpoint that is down makes
// no key hot.
const DeliveryShards = 16

const deliveryIDPrefix = "W#"

// inWebhooks returns the store of the rows of the Webhooks table, which are keyed as
// those of the Campaigns table are.
func (s *Store) inWebhooks() *Store {
	return &Store{Client: s.Client, Campaigns: s.Webhooks, Now: s.Now}
}

// inTableOf returns the store of the table in which a delivery stands.
func (s *Store) inTableOf(t campaign.NotifyTask) *Store {
	if t.DeliveryID == "" {
		return s
	}
	return s.inWebhooks()
}

func deliveryIDKey(t campaign.NotifyTask) Item {
	return Item{"pk": text(deliveryIDPrefix + t.DeliveryID), "sk": text(deliveryPrefix + t.Tenant + "#" + t.EndpointID)}
}

// readDeliveryIDKey reads the key that noticeIDKey made. No id of an endpoint holds a #.
func readDeliveryIDKey(row Item) (t campaign.NotifyTask, ok bool) {
	id, hasID := strings.CutPrefix(getText(row, "pk"), deliveryIDPrefix)
	owner, isDelivery := strings.CutPrefix(getText(row, "sk"), deliveryPrefix)
	at := strings.LastIndexByte(owner, '#')
	if !hasID || !isDelivery || at < 0 {
		return t, false
	}
	return campaign.NotifyTask{DeliveryID: id, Tenant: owner[:at], EndpointID: owner[at+1:]}, true
}

// deliveryIDDue is the hash key of DueIndex under which a delivery that has an ID stands.
func deliveryIDDue(n campaign.Delivery) string {
	shard := int(hashOf(n.ID) % DeliveryShards)
	switch {
	case n.Dead:
		return shardOf(deadPrefix, n.Tenant, n.EndpointID, shard)
	case n.Parked:
		return shardOf(parkedPrefix, n.Tenant, n.EndpointID, shard)
	}
	return strconv.Itoa(shard)
}

// shardOf is a hash key of the deliveries of an endpoint that sweep does not see.
func shardOf(prefix, tenant, endpointID string, shard int) string {
	return prefix + tenant + "#" + endpointID + "#" + strconv.Itoa(shard)
}

// DueDeliveries returns the deliveries of one of the DeliveryShards of the Webhooks table whose
// next check is not after now, the longest overdue first. The index lags behind the
// rows: what it names may have moved on. The sequence ends at the first error.
func (s *Store) DueDeliveries(ctx context.Context, shard int, now time.Time) iter.Seq2[campaign.Due, error] {
	pages := dynamodb.NewQueryPaginator(s.Client, deliveriesQuery(s.Webhooks, strconv.Itoa(shard), "#due = :due AND nextCheck <= :at", now))
	return func(yield func(campaign.Due, error) bool) {
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(campaign.Due{}, fmt.Errorf("read shard %d of the notices that are due: %w", shard, err))
				return
			}
			for _, row := range page.Items {
				task, ok := readDeliveryIDKey(row)
				if ok && !yield(campaign.Due{Delivery: &task, Check: getMillis(row, "nextCheck")}, nil) {
					return
				}
			}
		}
	}
}

func deliveriesQuery(table, due, condition string, at time.Time) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName: &table, IndexName: aws.String(DueIndex), KeyConditionExpression: &condition,
		ExpressionAttributeNames:  map[string]string{"#due": "due"},
		ExpressionAttributeValues: Item{":due": text(due), ":at": millis(at)},
	}
}

// deliveriesUnder names up to limit of an endpoint's deliveries, of both tables, whose index
// key begins with the prefix and whose next check is not before since, in the order of
// their checks.
func (s *Store) deliveriesUnder(ctx context.Context, prefix, tenant, endpointID string, since time.Time, limit int) ([]campaign.NotifyTask, error) {
	var found [DeliveryShards + 1][]Item
	group, ctx := errgroup.WithContext(ctx)
	for shard := range found {
		table, due := s.Webhooks, shardOf(prefix, tenant, endpointID, shard)
		if shard == DeliveryShards {
			table, due = s.Campaigns, prefix+tenant+"#"+endpointID
		}
		group.Go(func() error {
			query := deliveriesQuery(table, due, "#due = :due AND nextCheck >= :at", since)
			query.Limit = aws.Int32(int32(limit)) //nolint:gosec // some hundreds
			out, err := s.Client.Query(ctx, query)
			if err == nil {
				found[shard] = out.Items
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("read the notices of endpoint %s: %w", endpointID, err)
	}
	return firstTasks(slices.Concat(found[:]...), limit), nil
}

// firstTasks returns the tasks of the deliveries that are due first.
func firstTasks(rows []Item, limit int) []campaign.NotifyTask {
	slices.SortStableFunc(rows, func(a, b Item) int { return cmp.Compare(getNumber(a, "nextCheck"), getNumber(b, "nextCheck")) })
	tasks := make([]campaign.NotifyTask, 0, min(limit, len(rows)))
	for _, row := range rows[:min(limit, len(rows))] {
		if task, ok := readDeliveryKey(row); ok {
			tasks = append(tasks, task)
		}
	}
	return tasks
}
