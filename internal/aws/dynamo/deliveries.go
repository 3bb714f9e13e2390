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

var errDamagedDelivery = fmt.Errorf("delivery: %w", campaign.ErrDamaged)

// deliveryPrefix starts the sort key of a delivery. The key contains all fields of a
// NotifyTask, so that tasks can be created from the index: NOTICE#ordinal#tenant#endpoint
// under a batch, NOTICE#kind#blob#endpoint under a tenant. Kinds, blob keys and endpoint
// IDs contain no #.
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

// readDeliveryKey decodes a key of deliveryKey or circuitKey. The task of a circuit has no
// batch and no blob. ok is false for other rows.
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

func deliveryRow(n campaign.WebhookDelivery) Item {
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
	setEnd(row, n.ExpiresAt)
	return row
}

// setSubject writes the content of a delivery with an ID. For other deliveries, the key
// contains it.
func setSubject(row Item, n campaign.WebhookDelivery) {
	if n.Blob != "" {
		row["kind"], row["blob"] = text(string(n.Kind)), text(n.Blob)
		return
	}
	row["entries"] = bytesOf(n.Entries)
}

func deliveryShard(key Item) string {
	return strconv.FormatUint(hashOf(getText(key, "pk")+getText(key, "sk"))%DueShards, 10)
}

func readDelivery(t campaign.NotifyTask, row Item) (n campaign.WebhookDelivery, err error) {
	n = campaign.WebhookDelivery{
		Tenant: t.Tenant, EndpointID: t.EndpointID, Ordinal: t.Ordinal, Kind: t.Kind, Blob: t.Blob,
		Attempt: int(getNumber(row, "attempt")), Next: getMillis(row, "nextCheck"), Dead: getBool(row, "dead"), Parked: getBool(row, "parked"),
		ExpiresAt: getEnd(row),
	}
	if t.DeliveryID != "" {
		n.ID, n.Kind, n.Blob, n.Entries = t.DeliveryID, campaign.Kind(getText(row, "kind")), getText(row, "blob"), getBinary(row, "entries")
	}
	if t.BatchKey != "" {
		if n.Key, err = campaign.ParseBatchKey(t.BatchKey); err != nil {
			return n, fmt.Errorf("read delivery: %w", err)
		}
	}
	n.Left, err = unpackLeft(getBinary(row, "left"))
	return n, err
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
func (s *CampaignStore) Delivery(ctx context.Context, t campaign.NotifyTask) (campaign.WebhookDelivery, error) {
	row, err := s.inTableOf(t).get(ctx, deliveryKey(t))
	if err != nil {
		return campaign.WebhookDelivery{}, fmt.Errorf("read delivery to endpoint %s: %w", t.EndpointID, err)
	}
	return readDelivery(t, row)
}

// SaveDelivery replaces the delivery if Left and Attempt are unchanged since it was read,
// and reports whether it did. For an Unsaved delivery, it writes n if there is no row. After a
// lost response, it can report false although it succeeded. Left must ascend.
func (s *CampaignStore) SaveDelivery(ctx context.Context, read, n campaign.WebhookDelivery) (bool, error) {
	if read.Unsaved {
		return s.addDelivery(ctx, n)
	}
	condition, values := sameDelivery(read)
	_, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &s.inTableOf(n.Task()).Campaigns, Item: deliveryRow(n),
		ConditionExpression: &condition, ExpressionAttributeNames: map[string]string{"#left": "left"}, ExpressionAttributeValues: values,
	})
	return conditionHeld(err, "save delivery to endpoint "+n.EndpointID)
}

// DeleteDelivery deletes a completed delivery.
func (s *CampaignStore) DeleteDelivery(ctx context.Context, t campaign.NotifyTask) error {
	if _, err := s.Client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &s.inTableOf(t).Campaigns, Key: deliveryKey(t)}); err != nil {
		return fmt.Errorf("delete delivery to endpoint %s: %w", t.EndpointID, err)
	}
	return nil
}

// MoveDelivery sets a delivery's next check if it is unchanged since it was read, and
// reports whether it did.
func (s *CampaignStore) MoveDelivery(ctx context.Context, t campaign.NotifyTask, read, next time.Time) (bool, error) {
	_, err := s.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.inTableOf(t).Campaigns, Key: deliveryKey(t),
		UpdateExpression:          aws.String("SET nextCheck = :next"),
		ConditionExpression:       aws.String("nextCheck = :read"),
		ExpressionAttributeValues: Item{":next": millis(next), ":read": millis(read)},
	})
	return conditionHeld(err, "postpone delivery to endpoint "+t.EndpointID)
}

// AddDeliveries writes deliveries. Existing ones are not changed.
func (s *CampaignStore) AddDeliveries(ctx context.Context, deliveries []campaign.WebhookDelivery) error {
	for _, n := range deliveries {
		if _, err := s.addDelivery(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// addDelivery writes a delivery if there is no row, and reports whether it did.
func (s *CampaignStore) addDelivery(ctx context.Context, n campaign.WebhookDelivery) (bool, error) {
	put := s.inTableOf(n.Task()).putIfAbsentOrExpired(deliveryRow(n)).Put
	_, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: put.TableName, Item: put.Item,
		ConditionExpression: put.ConditionExpression, ExpressionAttributeValues: put.ExpressionAttributeValues,
	})
	return conditionHeld(err, "add delivery to endpoint "+n.EndpointID)
}

func sameDelivery(n campaign.WebhookDelivery) (string, Item) {
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

// LogPage reads one page of a batch's log. The error wraps campaign.ErrNotFound if it does
// not exist.
func (s *CampaignStore) LogPage(ctx context.Context, key campaign.BatchKey, ordinal int) (campaign.LogPage, error) {
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

// Identity returns the batch with the key. The error wraps campaign.ErrNotFound if there is
// none, and campaign.ErrDamaged if the row is incomplete.
func (s *CampaignStore) Identity(ctx context.Context, key campaign.BatchKey) (campaign.BatchRef, error) {
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

// FindBatch reads the batch with the key. The error wraps campaign.ErrNotFound if there is
// none.
func (s *CampaignStore) FindBatch(ctx context.Context, key campaign.BatchKey) (campaign.Batch, error) {
	ref, err := s.Identity(ctx, key)
	if err != nil {
		return campaign.Batch{}, err
	}
	return s.Batch(ctx, ref)
}
