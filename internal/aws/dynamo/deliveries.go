package dynamo

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/campaign"
)

var errDamagedDelivery = fmt.Errorf("notice: %w", campaign.ErrDamaged)

// deliveryPrefix begins the range key of a delivery. The key tells all that a
// NotifyTask holds, so that the index of what is due suffices to write one:
// NOTICE#ordinal#tenant#endpoint under a batch, and NOTICE#kind#blob#endpoint
// under a tenant. No kind, blob key or endpoint id holds a #.
const deliveryPrefix = "NOTICE#"

func deliveryKey(t campaign.NotifyTask) Item {
	if t.DeliveryID != "" {
		return deliveryIDKey(t)
	}
	if t.BatchKey == "" {
		return Item{"pk": text("X#" + t.Tenant), "sk": text(deliveryPrefix + string(t.Kind) + "#" + t.Blob + "#" + t.EndpointID)}
	}
	return Item{"pk": text("B#" + t.BatchKey), "sk": text(fmt.Sprintf("%s%06d#%s#%s", deliveryPrefix, t.Ordinal, t.Tenant, t.EndpointID))}
}

// readDeliveryKey reads the key that deliveryKey made, or that of a circuit: its task
// names neither a batch nor a blob, and asks to look after the endpoint. ok is
// false for another row.
func readDeliveryKey(row Item) (t campaign.NotifyTask, ok bool) {
	if t, ok := readCircuitKey(row); ok {
		return t, true
	}
	if t, ok := readDeliveryIDKey(row); ok {
		return t, true
	}
	rest, isDelivery := strings.CutPrefix(getText(row, "sk"), deliveryPrefix)
	first, rest, hasFirst := strings.Cut(rest, "#")
	at := strings.LastIndexByte(rest, '#')
	if !isDelivery || !hasFirst || at < 0 {
		return t, false
	}
	t.EndpointID = rest[at+1:]
	if tenant, ok := strings.CutPrefix(getText(row, "pk"), "X#"); ok {
		t.Tenant, t.Kind, t.Blob = tenant, campaign.Kind(first), rest[:at]
		return t, true
	}
	key, ofBatch := strings.CutPrefix(getText(row, "pk"), "B#")
	ordinal, err := strconv.Atoi(first)
	t.Tenant, t.BatchKey, t.Ordinal = rest[:at], key, ordinal
	return t, ofBatch && err == nil
}

func deliveryRow(n campaign.Delivery) Item {
	row := deliveryKey(n.Task())
	if n.ID != "" {
		setSubject(row, n)
	}
	if n.Attempt > 0 {
		row["attempt"] = number(n.Attempt)
	}
	if len(n.Left) > 0 {
		row["left"] = packLeft(n.Left)
	}
	if n.Dead {
		row["dead"] = boolean(true)
	}
	if n.Parked {
		row["parked"] = boolean(true)
	}
	row["due"], row["nextCheck"] = text(deliveryDue(n, row)), millis(n.Next)
	setEnd(row, n.Ends)
	return row
}

// setSubject writes what a delivery is about, which the key of one that has an ID does not
// tell.
func setSubject(row Item, n campaign.Delivery) {
	if n.Blob != "" {
		row["kind"], row["blob"] = text(string(n.Kind)), text(n.Blob)
		return
	}
	row["entries"] = bytesOf(n.Entries)
}

func deliveryShard(key Item) string {
	return strconv.FormatUint(hashOf(getText(key, "pk")+getText(key, "sk"))%DueShards, 10)
}

func readDelivery(t campaign.NotifyTask, row Item) (n campaign.Delivery, err error) {
	n = campaign.Delivery{
		Tenant: t.Tenant, EndpointID: t.EndpointID, Ordinal: t.Ordinal, Kind: t.Kind, Blob: t.Blob,
		Attempt: int(getNumber(row, "attempt")), Next: getMillis(row, "nextCheck"), Dead: getBool(row, "dead"), Parked: getBool(row, "parked"),
		Ends: getEnd(row),
	}
	if t.DeliveryID != "" {
		n.ID, n.Kind, n.Blob, n.Entries = t.DeliveryID, campaign.Kind(getText(row, "kind")), getText(row, "blob"), getBinary(row, "entries")
	}
	if t.BatchKey != "" {
		if n.Key, err = campaign.ParseBatchKey(t.BatchKey); err != nil {
			return n, fmt.Errorf("read a notice: %w", err)
		}
	}
	n.Left, err = unpackLeft(getBinary(row, "left"))
	return n, err
}

// packLeft writes positions in ascending order as their distances.
func packLeft(left []int) attribute {
	b, next := make([]byte, 0, len(left)), 0
	for _, p := range left {
		b = binary.AppendUvarint(b, uint64(p-next)) //nolint:gosec // positions ascend from 0
		next = p + 1
	}
	return bytesOf(b)
}

func unpackLeft(b []byte) ([]int, error) {
	var left []int
	next := 0
	for len(b) > 0 {
		distance, n := binary.Uvarint(b)
		if n <= 0 || distance > campaign.MaxMessages {
			return nil, errDamagedDelivery
		}
		left = append(left, next+int(distance))
		next, b = left[len(left)-1]+1, b[n:]
	}
	return left, nil
}

// Delivery reads what an endpoint is owed consistently; the error wraps
// campaign.ErrNotFound where it is owed nothing any more.
func (s *Store) Delivery(ctx context.Context, t campaign.NotifyTask) (campaign.Delivery, error) {
	row, err := s.inTableOf(t).get(ctx, deliveryKey(t))
	if err != nil {
		return campaign.Delivery{}, fmt.Errorf("read a notice to endpoint %s: %w", t.EndpointID, err)
	}
	return readDelivery(t, row)
}

// SaveDelivery replaces the delivery read by n, and reports whether it did. It does where
// Left and Attempt are still as they were read; Next may differ. A New delivery has no row
// yet: SaveDelivery writes n where there is none. After a lost answer it may report false
// although it saved n. Left must ascend.
func (s *Store) SaveDelivery(ctx context.Context, read, n campaign.Delivery) (bool, error) {
	if read.New {
		return s.addDelivery(ctx, n)
	}
	condition, values := sameDelivery(read)
	_, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &s.inTableOf(n.Task()).Campaigns, Item: deliveryRow(n),
		ConditionExpression: &condition, ExpressionAttributeNames: map[string]string{"#left": "left"}, ExpressionAttributeValues: values,
	})
	return held(err, "save a notice to endpoint "+n.EndpointID)
}

// DeleteDelivery deletes a delivery of which nothing is owed any more.
func (s *Store) DeleteDelivery(ctx context.Context, t campaign.NotifyTask) error {
	if _, err := s.Client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &s.inTableOf(t).Campaigns, Key: deliveryKey(t)}); err != nil {
		return fmt.Errorf("delete a notice to endpoint %s: %w", t.EndpointID, err)
	}
	return nil
}

// MoveDelivery sets when sweep looks at a delivery next, where that is still as it
// was read, and reports whether it was.
func (s *Store) MoveDelivery(ctx context.Context, t campaign.NotifyTask, read, next time.Time) (bool, error) {
	_, err := s.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.inTableOf(t).Campaigns, Key: deliveryKey(t),
		UpdateExpression:          aws.String("SET nextCheck = :next"),
		ConditionExpression:       aws.String("nextCheck = :read"),
		ExpressionAttributeValues: Item{":next": millis(next), ":read": millis(read)},
	})
	return held(err, "move a notice to endpoint "+t.EndpointID)
}

// AddDeliveries writes deliveries that no batch's transaction writes. One that is there
// already stays as it is.
func (s *Store) AddDeliveries(ctx context.Context, deliveries []campaign.Delivery) error {
	for _, n := range deliveries {
		if _, err := s.addDelivery(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// addDelivery writes a delivery unless there is one, and reports whether it did.
func (s *Store) addDelivery(ctx context.Context, n campaign.Delivery) (bool, error) {
	put := s.inTableOf(n.Task()).putOver(deliveryRow(n)).Put
	_, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: put.TableName, Item: put.Item,
		ConditionExpression: put.ConditionExpression, ExpressionAttributeValues: put.ExpressionAttributeValues,
	})
	return held(err, "add a notice to endpoint "+n.EndpointID)
}

func sameDelivery(n campaign.Delivery) (string, Item) {
	condition, values := "attribute_exists(pk)", Item{}
	if n.Attempt > 0 {
		condition += " AND attempt = :attempt"
		values[":attempt"] = number(n.Attempt)
	} else {
		condition += " AND attribute_not_exists(attempt)"
	}
	if len(n.Left) > 0 {
		condition += " AND #left = :left"
		values[":left"] = packLeft(n.Left)
	} else {
		condition += " AND attribute_not_exists(#left)"
	}
	if len(values) == 0 {
		return condition, nil
	}
	return condition, values
}

// LogPage reads one page of a batch's log; the error wraps campaign.ErrNotFound
// where there is none.
func (s *Store) LogPage(ctx context.Context, key campaign.BatchKey, ordinal int) (campaign.LogPage, error) {
	row, err := s.get(ctx, outcomeKey(key, logSK(ordinal)))
	if err != nil {
		return campaign.LogPage{}, fmt.Errorf("read page %d of the log of batch %s: %w", ordinal, key, err)
	}
	changes, err := unpackChanges(getBinary(row, "changes"))
	if err != nil {
		return campaign.LogPage{}, fmt.Errorf("read page %d of the log of batch %s: %w", ordinal, key, err)
	}
	return campaign.LogPage{Ordinal: ordinal, First: int(getNumber(row, "first")), Changes: changes}, nil
}

// Identity returns which batch the ids of messages were made for with the key; the
// error wraps campaign.ErrNotFound where there is none, and campaign.ErrDamaged where the
// row does not say which.
func (s *Store) Identity(ctx context.Context, key campaign.BatchKey) (campaign.BatchRef, error) {
	row, err := s.get(ctx, outcomeKey(key, headSK))
	if err != nil {
		return campaign.BatchRef{}, fmt.Errorf("find batch %s: %w", key, err)
	}
	ref := campaign.BatchRef{
		ID:      campaign.ID{Tenant: getText(row, "tenant"), CampaignID: getText(row, "campaignId")},
		BatchID: getText(row, "batchId"),
	}
	if ref.Tenant == "" || ref.CampaignID == "" || ref.BatchID == "" {
		return ref, fmt.Errorf("find batch %s: %w", key, campaign.ErrDamaged)
	}
	return ref, nil
}

// FindBatch reads the batch whose messages' ids were made of the key; the error
// wraps campaign.ErrNotFound where there is none.
func (s *Store) FindBatch(ctx context.Context, key campaign.BatchKey) (campaign.Batch, error) {
	ref, err := s.Identity(ctx, key)
	if err != nil {
		return campaign.Batch{}, err
	}
	return s.Batch(ctx, ref)
}
