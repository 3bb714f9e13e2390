package dynamo

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
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
	"campaign-dispatch/internal/sweep/overdue"
	"campaign-dispatch/internal/webhook/delivery"
)

var errDamagedDelivery = fmt.Errorf("delivery: %w", campaign.ErrDamaged)

// readDeliveryKey decodes a key of deliveryKey. Endpoint IDs contain no #. ok is false for
// other rows.
func readDeliveryKey(row Item) (t delivery.NotifyTask, ok bool) {
	id, hasID := strings.CutPrefix(getText(row, "pk"), deliveryIDPrefix)
	owner, isDelivery := strings.CutPrefix(getText(row, "sk"), deliveryPrefix)
	at := strings.LastIndexByte(owner, '#')
	if !hasID || !isDelivery || at < 0 {
		return t, false
	}
	return delivery.NotifyTask{DeliveryID: id, Tenant: owner[:at], EndpointID: owner[at+1:]}, true
}

func deliveryFields(n *delivery.Delivery) fields {
	return fields{
		"attempt?": &n.Attempt, "dead?": &n.Dead, "parked?": &n.Parked, "notBefore?": &n.NotBefore, "nextCheck": &n.Next,
		"blob?": &n.Blob,
	}
}

func deliveryRow(n delivery.Delivery) Item {
	row := with(with(deliveryKey(n.Task()), deliveryFields(&n).item()), some(Item{"pending": packPending(n.Pending)}))
	if n.Blob != "" {
		row["kind"] = text(n.Kind)
	} else {
		row["entries"] = bytesOf(n.Entries)
	}
	row["due"] = text(deliveryDue(n))
	setEnd(row, n.ExpiresAt)
	return row
}

func readDelivery(t delivery.NotifyTask, row Item) (delivery.Delivery, error) {
	pending, err := unpackPending(getBinary(row, "pending"))
	return fill(delivery.Delivery{
		ID: t.DeliveryID, Tenant: t.Tenant, EndpointID: t.EndpointID, Pending: pending, Kind: delivery.Kind(getText(row, "kind")),
		Entries: getBinary(row, "entries"), ExpiresAt: getEnd(row),
	}, deliveryFields, row), err
}

// packPending encodes ascending positions as differences.
func packPending(pending []int) attribute {
	b, next := make([]byte, 0, len(pending)), 0
	for _, p := range pending {
		b = binary.AppendUvarint(b, uint64(p-next)) //nolint:gosec // positions ascend from 0
		next = p + 1
	}
	return bytesOf(b)
}

func unpackPending(b []byte) ([]int, error) {
	var pending []int
	next := 0
	for len(b) > 0 {
		distance, n := binary.Uvarint(b)
		if n <= 0 || distance > campaign.MaxMessages {
			return nil, errDamagedDelivery
		}
		pending = append(pending, next+int(distance))
		next, b = pending[len(pending)-1]+1, b[n:]
	}
	return pending, nil
}

// Delivery reads a delivery consistently. The error wraps campaign.ErrNotFound if it does
// not exist.
func (s *DeliveryStore) Delivery(ctx context.Context, t delivery.NotifyTask) (delivery.Delivery, error) {
	row, err := s.getFrom(ctx, "read delivery to endpoint "+t.EndpointID, s.Webhooks, deliveryKey(t))
	if err != nil {
		return delivery.Delivery{}, err
	}
	return readDelivery(t, row)
}

// Deliveries reads up to 100 deliveries to an endpoint consistently. It returns those that exist, by ID.
func (s *DeliveryStore) Deliveries(ctx context.Context, tenant, endpointID string, ids []string) (map[string]delivery.Delivery, error) {
	task := func(id string) delivery.NotifyTask {
		return delivery.NotifyTask{DeliveryID: id, Tenant: tenant, EndpointID: endpointID}
	}
	rows, err := s.rowsOf(ctx, "read deliveries to endpoint "+endpointID, s.Webhooks, ids, func(id string) Item { return deliveryKey(task(id)) })
	if err != nil {
		return nil, err
	}
	found := make(map[string]delivery.Delivery, len(rows))
	for id, row := range rows {
		if found[id], err = readDelivery(task(id), row); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// SaveDelivery replaces the delivery if Pending, Attempt and Parked are unchanged since it was read,
// and reports whether it did. It ends the delivery's claim. For an Unsaved delivery, it writes n if there is no row. After
// a lost response, it can report false although it succeeded. Pending must ascend.
func (s *DeliveryStore) SaveDelivery(ctx context.Context, read, n delivery.Delivery) (bool, error) {
	if read.Unsaved {
		return s.addDelivery(ctx, n)
	}
	condition, values := sameDelivery(read)
	return s.write(ctx, "save delivery to endpoint "+n.EndpointID, inTable(s.Webhooks, s.putIf(deliveryRow(n), condition, values)))
}

// DeleteDelivery deletes a completed delivery.
func (s *DeliveryStore) DeleteDelivery(ctx context.Context, t delivery.NotifyTask) error {
	return s.tryWrite(ctx, "delete delivery to endpoint "+t.EndpointID, inTable(s.Webhooks, s.remove(deliveryKey(t))))
}

// ClaimDelivery gives the delivery to the caller until an instant, and reports whether it did: if the delivery is as
// SaveDelivery wants it, and nobody else has it. It returns the end of another's claim, if there is one.
func (s *DeliveryStore) ClaimDelivery(
	ctx context.Context, read delivery.Delivery, until time.Time,
) (claimed bool, others time.Time, err error) {
	condition, values := sameDelivery(read)
	mine := text(rand.Text()) // the SDK repeats an update without a response
	w := s.update(deliveryKey(read.Task()), "SET claimedUntil = :until, claimedBy = :mine",
		condition+" AND (attribute_not_exists(claimedBy) OR claimedUntil <= :now OR claimedBy = :mine)",
		with(values, Item{":until": millis(until), ":now": millis(s.Now()), ":mine": mine}))
	there, claimed, err := s.writeOrRead(ctx, "claim delivery to endpoint "+read.EndpointID, inTable(s.Webhooks, w))
	if end := getMillis(there, "claimedUntil"); end.After(s.Now()) {
		others = end
	}
	return claimed, others, err
}

// PostponeDelivery sets a delivery's next check if it is unchanged since it was read, and reports whether it did. The
// delivery can be posted at any time then.
func (s *DeliveryStore) PostponeDelivery(ctx context.Context, t delivery.NotifyTask, read, next time.Time) (bool, error) {
	values := Item{":next": millis(next), ":read": millis(read)}
	w := s.update(deliveryKey(t), "SET nextCheck = :next REMOVE notBefore", "nextCheck = :read", values)
	return s.write(ctx, "postpone delivery to endpoint "+t.EndpointID, inTable(s.Webhooks, w))
}

// AddDeliveries writes deliveries. Existing ones are not changed.
func (s *DeliveryStore) AddDeliveries(ctx context.Context, deliveries []delivery.Delivery) error {
	for _, n := range deliveries {
		if _, err := s.addDelivery(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

func (s *DeliveryStore) addDelivery(ctx context.Context, n delivery.Delivery) (bool, error) {
	return s.write(ctx, "add delivery to endpoint "+n.EndpointID, inTable(s.Webhooks, s.putIfAbsentOrExpired(deliveryRow(n))))
}

func sameDelivery(n delivery.Delivery) (condition string, values Item) {
	values = some(Item{":attempt": number(n.Attempt), ":pending": packPending(n.Pending), ":parked": boolean(n.Parked)})
	conditions := []string{present}
	for _, name := range []string{"attempt", "pending", "parked"} {
		if values[":"+name] == nil {
			conditions = append(conditions, "attribute_not_exists(#"+name+")")
		} else {
			conditions = append(conditions, "#"+name+" = :"+name)
		}
	}
	return strings.Join(conditions, " AND "), values
}

// DueIndex partition keys of parked and dead deliveries. Sweep does not read them.
const (
	parkedPrefix = "PARKED#"
	deadPrefix   = "DEAD#"
)

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

func shardOf(prefix, tenant, endpointID string, shard int) string {
	return prefix + tenant + "#" + endpointID + "#" + strconv.Itoa(shard)
}

// DueDeliveries yields the due deliveries of one of DeliveryShards, the longest overdue
// first. The index is eventually consistent, so items may have changed. The sequence ends
// at the first error.
func (s *DeliveryStore) DueDeliveries(ctx context.Context, shard int, now time.Time) iter.Seq2[overdue.Item, error] {
	in := s.deliveriesQuery(strconv.Itoa(shard), "#due = :due AND nextCheck <= :at", now)
	return func(yield func(overdue.Item, error) bool) {
		for row, err := range s.each(ctx, fmt.Sprintf("read due deliveries of shard %d", shard), in) {
			task, ok := readDeliveryKey(row)
			if (ok || err != nil) && !yield(overdue.Item{Delivery: &task, Check: getMillis(row, "nextCheck")}, err) {
				return
			}
		}
	}
}

func (s *DeliveryStore) deliveriesQuery(due, condition string, at time.Time) *dynamodb.QueryInput {
	in := queryOf(s.Webhooks, condition, Item{":due": text(due), ":at": millis(at)})
	in.IndexName = aws.String(DueIndex)
	return in
}

// ParkedDeliveries returns up to limit parked deliveries of an endpoint, oldest first. The
// index is eventually consistent.
func (s *DeliveryStore) ParkedDeliveries(ctx context.Context, tenant, endpointID string, limit int) ([]delivery.NotifyTask, error) {
	return s.deliveriesUnder(ctx, parkedPrefix, tenant, endpointID, time.Time{}, limit)
}

// DeadDeliveries returns up to limit deliveries of an endpoint that were abandoned at or
// after since, oldest first.
func (s *DeliveryStore) DeadDeliveries(
	ctx context.Context, tenant, endpointID string, since time.Time, limit int,
) ([]delivery.NotifyTask, error) {
	return s.deliveriesUnder(ctx, deadPrefix, tenant, endpointID, since, limit)
}

// deliveriesUnder returns up to limit deliveries of an endpoint whose index key has the
// prefix and whose next check is at or after since, ordered by next check.
func (s *DeliveryStore) deliveriesUnder(
	ctx context.Context, prefix, tenant, endpointID string, since time.Time, limit int,
) ([]delivery.NotifyTask, error) {
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
