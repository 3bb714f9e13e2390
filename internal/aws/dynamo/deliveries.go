package dynamo

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/webhook/delivery"
)

var errDamagedDelivery = fmt.Errorf("delivery: %w", campaign.ErrDamaged)

const (
	deliveryIDPrefix = "W#"
	deliveryPrefix   = "DELIVERY#"
)

// deliveryKey contains all fields of the delivery's task, so that tasks can be created from
// the index.
func deliveryKey(t delivery.NotifyTask) Item {
	return Item{"pk": text(deliveryIDPrefix + t.DeliveryID), "sk": text(deliveryPrefix + t.Tenant + "#" + t.EndpointID)}
}

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

func deliveryRow(n delivery.Delivery) Item {
	row := deliveryKey(n.Task())
	if n.Blob != "" {
		row["kind"], row["blob"] = text(string(n.Kind)), text(n.Blob)
	} else {
		row["entries"] = bytesOf(n.Entries)
	}
	if n.Attempt > 0 {
		row["attempt"] = number(n.Attempt)
	}
	if len(n.Pending) > 0 {
		row["left"] = packLeft(n.Pending)
	}
	if n.Dead {
		row["dead"] = boolean(true)
	}
	if n.Parked {
		row["parked"] = boolean(true)
	}
	row["due"], row["nextCheck"] = text(deliveryDue(n)), millis(n.Next)
	setEnd(row, n.ExpiresAt)
	return row
}

func readDelivery(t delivery.NotifyTask, row Item) (delivery.Delivery, error) {
	left, err := unpackLeft(getBinary(row, "left"))
	return delivery.Delivery{
		ID: t.DeliveryID, Tenant: t.Tenant, EndpointID: t.EndpointID, Pending: left,
		Kind: delivery.Kind(getText(row, "kind")), Blob: getText(row, "blob"), Entries: getBinary(row, "entries"),
		Attempt: int(getNumber(row, "attempt")), Next: getMillis(row, "nextCheck"), Dead: getBool(row, "dead"), Parked: getBool(row, "parked"),
		ExpiresAt: getEnd(row),
	}, err
}

// packLeft encodes ascending positions as differences.
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

// Delivery reads a delivery consistently. The error wraps campaign.ErrNotFound if it does
// not exist.
func (s *DeliveryStore) Delivery(ctx context.Context, t delivery.NotifyTask) (delivery.Delivery, error) {
	row, err := s.getFrom(ctx, s.Webhooks, deliveryKey(t))
	if err != nil {
		return delivery.Delivery{}, fmt.Errorf("read delivery to endpoint %s: %w", t.EndpointID, err)
	}
	return readDelivery(t, row)
}

// SaveDelivery replaces the delivery if Left and Attempt are unchanged since it was read,
// and reports whether it did. For an Unsaved delivery, it writes n if there is no row. After a
// lost response, it can report false although it succeeded. Left must ascend.
func (s *DeliveryStore) SaveDelivery(ctx context.Context, read, n delivery.Delivery) (bool, error) {
	if read.Unsaved {
		return s.addDelivery(ctx, n)
	}
	condition, values := sameDelivery(read)
	_, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &s.Webhooks, Item: deliveryRow(n),
		ConditionExpression: &condition, ExpressionAttributeNames: map[string]string{"#left": "left"}, ExpressionAttributeValues: values,
	})
	return conditionHeld(err, "save delivery to endpoint "+n.EndpointID)
}

// DeleteDelivery deletes a completed delivery.
func (s *DeliveryStore) DeleteDelivery(ctx context.Context, t delivery.NotifyTask) error {
	if _, err := s.Client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &s.Webhooks, Key: deliveryKey(t)}); err != nil {
		return fmt.Errorf("delete delivery to endpoint %s: %w", t.EndpointID, err)
	}
	return nil
}

// PostponeDelivery sets a delivery's next check if it is unchanged since it was read, and
// reports whether it did.
func (s *DeliveryStore) PostponeDelivery(ctx context.Context, t delivery.NotifyTask, read, next time.Time) (bool, error) {
	_, err := s.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.Webhooks, Key: deliveryKey(t),
		UpdateExpression:          aws.String("SET nextCheck = :next"),
		ConditionExpression:       aws.String("nextCheck = :read"),
		ExpressionAttributeValues: Item{":next": millis(next), ":read": millis(read)},
	})
	return conditionHeld(err, "postpone delivery to endpoint "+t.EndpointID)
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

// addDelivery writes a delivery if there is no row, and reports whether it did.
func (s *DeliveryStore) addDelivery(ctx context.Context, n delivery.Delivery) (bool, error) {
	put := s.putIfAbsentOrExpired(deliveryRow(n)).Put
	_, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &s.Webhooks, Item: put.Item,
		ConditionExpression: put.ConditionExpression, ExpressionAttributeValues: put.ExpressionAttributeValues,
	})
	return conditionHeld(err, "add delivery to endpoint "+n.EndpointID)
}

func sameDelivery(n delivery.Delivery) (string, Item) {
	condition, values := "attribute_exists(pk)", Item{}
	if n.Attempt > 0 {
		condition += " AND attempt = :attempt"
		values[":attempt"] = number(n.Attempt)
	} else {
		condition += " AND attribute_not_exists(attempt)"
	}
	if len(n.Pending) > 0 {
		condition += " AND #left = :left"
		values[":left"] = packLeft(n.Pending)
	} else {
		condition += " AND attribute_not_exists(#left)"
	}
	if len(values) == 0 {
		return condition, nil
	}
	return condition, values
}

// Identity returns the batch with the key. The error wraps campaign.ErrNotFound if there is
// none, and campaign.ErrDamaged if the row is incomplete.
func (s *BatchStore) Identity(ctx context.Context, key campaign.BatchKey) (campaign.BatchRef, error) {
	row, err := s.get(ctx, identityKey(key))
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

// FindBatch reads the batch with the key. The error wraps campaign.ErrNotFound if there is
// none.
func (s *BatchStore) FindBatch(ctx context.Context, key campaign.BatchKey) (campaign.Batch, error) {
	ref, err := s.Identity(ctx, key)
	if err != nil {
		return campaign.Batch{}, err
	}
	return s.Batch(ctx, ref)
}
