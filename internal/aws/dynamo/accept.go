package dynamo

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch/acceptance"
)

// Snapshot reads the rows needed to accept a dispatch call, in one round of concurrent
// calls. All reads are consistent except those of the packed sets. Packed sets are
// never extended, so the caller detects missing ones by their ordinals and repeats the query
// with Consistent.
func (s *AcceptanceStore) Snapshot(ctx context.Context, q acceptance.Query) (acceptance.State, error) {
	keys := s.queryKeys(q)
	var rows map[string]Item
	var sets []acceptance.PackedSet
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		rows, err = s.batchGet(ctx, keys)
		return err
	})
	if q.CampaignID != "" {
		group.Go(func() (err error) {
			sets, err = s.packedSets(ctx, q)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return acceptance.State{}, fmt.Errorf("read the rows of a dispatch call: %w", err)
	}
	snapshot, err := s.readSnapshot(q, keys, rows)
	snapshot.Sets = sets
	return snapshot, err
}

// queryKeys returns the keys of the queried rows by part.
func (s *AcceptanceStore) queryKeys(q acceptance.Query) map[string]rowKey {
	id := campaign.ID{Tenant: q.Tenant, CampaignID: q.CampaignID}
	keys := map[string]rowKey{}
	if q.ClientID != "" {
		keys["credential"] = rowKey{s.Auth, credentialKey(q.ClientID)}
	}
	if q.Calls {
		keys["calls"] = rowKey{s.Auth, callsKey(q.Tenant)}
	}
	if q.IdempotencyKey != "" {
		keys["answer"] = rowKey{s.Campaigns, idempotencyKey(q.Tenant, q.ClientID, q.IdempotencyKey)}
	}
	if q.TemplateID != "" && q.Tenant != "" {
		keys["billing"] = rowKey{s.Campaigns, billingKey(q.Tenant)}
		keys["budget"] = rowKey{s.Campaigns, budgetKey(q.Tenant, campaign.MonthOf(q.Date))}
	}
	if q.TemplateID != "" {
		keys["template"] = rowKey{s.Campaigns, templateKey(q.TemplateID)}
	}
	if q.Name != "" {
		keys["name"] = rowKey{s.Campaigns, nameKey(q.Tenant, q.Name)}
	}
	if q.CampaignID != "" {
		keys["meta"] = rowKey{s.Campaigns, metaKey(id)}
	}
	if q.CampaignID != "" && q.BatchID != "" {
		keys["batch"] = rowKey{s.Campaigns, batchKey(campaign.BatchRef{ID: id, BatchID: q.BatchID})}
	}
	return keys
}

func (s *AcceptanceStore) readSnapshot(q acceptance.Query, keys map[string]rowKey, rows map[string]Item) (snapshot acceptance.State, err error) {
	row := func(part string) Item { return s.unexpiredRow(rows[keys[part].id()]) }
	if r := row("credential"); r != nil {
		credential := readCredential(q.ClientID, r)
		snapshot.Credential = &credential
	}
	if r := row("answer"); r != nil {
		snapshot.Answer = &acceptance.Answer{
			BodyHash: getBinary(r, "bodyHash"), Body: getBinary(r, "body"), BlobKey: getText(r, "blobKey"),
		}
	}
	if r := row("meta"); r != nil {
		if getBool(r, forgetting) {
			return snapshot, fmt.Errorf("campaign %s is being deleted: %w", q.CampaignID, campaign.ErrLostRace)
		}
		snapshot.Meta = &acceptance.Meta{
			Name: getText(r, "name"), CreatedAt: getMillis(r, "createdAt"), Batches: int(getNumber(r, "batches")), Cancelled: getBool(r, "cancelled"),
			Move: readMove(r), Test: getBool(r, "test"), Submission: s.readTotals(r),
		}
	}
	snapshot.NameOwner = getText(row("name"), "campaignId")
	snapshot.Calls = readCalls(rows[keys["calls"].id()]) // expired rows too, so that the period does not restart
	if r := row("billing"); r != nil {
		snapshot.Billing = readBilling(r)
	}
	snapshot.Reserved = readSpending(row("budget"), q.Date)
	if r := row("batch"); r != nil {
		ref := campaign.BatchRef{ID: campaign.ID{Tenant: q.Tenant, CampaignID: q.CampaignID}, BatchID: q.BatchID}
		batch, err := readBatch(ref, r)
		if err != nil {
			return snapshot, err
		}
		snapshot.Batch = &batch
	}
	if r := row("template"); r != nil {
		template, err := readTemplate(q.TemplateID, r)
		if err != nil {
			return snapshot, err
		}
		snapshot.Template = &template
	}
	return snapshot, nil
}

func (s *AcceptanceStore) packedSets(ctx context.Context, q acceptance.Query) ([]acceptance.PackedSet, error) {
	id := campaign.ID{Tenant: q.Tenant, CampaignID: q.CampaignID}
	pages := dynamodb.NewQueryPaginator(s.Client, &dynamodb.QueryInput{
		TableName:              &s.Campaigns,
		ConsistentRead:         aws.Bool(q.Consistent),
		KeyConditionExpression: aws.String("pk = :pk AND sk BETWEEN :from AND :to"),
		ExpressionAttributeValues: Item{
			":pk": metaKey(id)["pk"], ":from": text(setSK(q.KnownSets + 1)), ":to": text("SET#~"),
		},
		ProjectionExpression: aws.String("sk, packed"),
	})
	var sets []acceptance.PackedSet
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, row := range page.Items {
			ordinal, err := strconv.Atoi(strings.TrimPrefix(getText(row, "sk"), "SET#"))
			if err != nil {
				return nil, fmt.Errorf("read the ordinal of a packed set: %w", err)
			}
			sets = append(sets, acceptance.PackedSet{Ordinal: ordinal, Packed: getBinary(row, "packed")})
		}
	}
	return sets, nil
}

// Accept writes an accepted dispatch call in one transaction. The error wraps
// campaign.ErrLostRace if a row changed since it was read, or if the budget has no room left:
// the caller reads it again. After any other error, the transaction may have been committed.
func (s *AcceptanceStore) Accept(ctx context.Context, a acceptance.Command, token string) error {
	a.Batch.Ordinal = a.Ordinal
	items := []types.TransactWriteItem{
		s.metaWrite(a),
		s.putIfAbsentOrExpired(s.batchRow(a.Batch)),
		s.putNew(withValue(setKey(a.Batch.ID, a.Ordinal), "packed", bytesOf(a.Packed))),
	}
	if a.Batch.Accepted > 0 { // the first events can arrive before the first message is recorded
		items = append(items, s.putNew(identityRow(a.Batch)))
	}
	if a.Ordinal == 1 {
		row := nameKey(a.Batch.Tenant, a.Campaign)
		items = append(items, s.putNew(withValue(row, "campaignId", text(a.Batch.CampaignID))))
	}
	if a.IdempotencyKey != "" {
		items = append(items, s.answerWrite(a))
	}
	if b := a.Batch; b.Reserved > 0 {
		items = append(items, s.changeBudgets(b.Tenant, campaign.Reserve(b.ReservedOn, b.Reserved, a.Limits))...)
	}
	reasons, err := s.transact(ctx, items, token)
	if err != nil {
		return fmt.Errorf("accept batch %s: %w", a.Batch.BatchID, err)
	}
	if len(reasons) > 0 {
		return fmt.Errorf("accept batch %s: %w", a.Batch.BatchID, campaign.ErrLostRace)
	}
	return nil
}

// metaWrite creates the campaign, or increments its batch count if it is unchanged.
func (s *AcceptanceStore) metaWrite(a acceptance.Command) types.TransactWriteItem {
	if a.Ordinal == 1 {
		row := metaKey(a.Batch.ID)
		row["name"] = text(a.Campaign)
		row["batches"] = number(1)
		row["accepted"] = number(a.Batch.Accepted)
		row["listOf"], row["listAs"] = text(a.Batch.Tenant), text(listAs(listedAt(a.Batch), a.Batch.CampaignID))
		row["createdAt"], row["lastAt"] = millis(a.Batch.AcceptedAt), millis(a.Batch.AcceptedAt)
		row["due"], row["nextCheck"] = text(s.dueShard(campaign.BatchRef{ID: a.Batch.ID})), millis(a.Batch.ExpiresAt())
		if a.Batch.Scheduled {
			row["anyScheduled"] = boolean(true)
		}
		if a.AskedBy != "" {
			row["askedBy"] = text(a.AskedBy)
		}
		if a.Batch.Test {
			row["test"] = boolean(true)
		}
		maps.Copy(row, totalsItem(a.Submission))
		return s.putNew(row)
	}
	update, values := "SET batches = :new, lastAt = :at", Item{
		":new": number(a.Ordinal), ":read": number(a.Ordinal - 1), ":more": number(a.Batch.Accepted),
		":at": millis(a.Batch.AcceptedAt), ":created": millis(a.CreatedAt),
	}
	if a.Batch.Scheduled {
		update, values[":true"] = update+", anyScheduled = :true", boolean(true)
	}
	if a.AskedBy != "" { // the first parts may have needed no approval
		update, values[":asker"] = update+", askedBy = :asker", text(a.AskedBy)
	}
	condition := "batches = :read AND createdAt = :created AND attribute_not_exists(cancelled) AND " + notForgetting
	if a.Batch.Part != "" {
		condition += " AND " + unmoved(a.Moves, values)
	}
	var names map[string]string
	if a.Submission.Known() {
		var totals string
		totals, names = assign(totalsItem(a.Submission), values)
		update, condition = update+", "+totals, condition+" AND "+takesPart
	}
	return types.TransactWriteItem{Update: &types.Update{
		TableName:                 &s.Campaigns,
		Key:                       metaKey(a.Batch.ID),
		UpdateExpression:          aws.String(update + " ADD accepted :more"),
		ConditionExpression:       &condition,
		ExpressionAttributeNames:  names,
		ExpressionAttributeValues: values,
	}}
}

// answerWrite stores the response of an idempotency key.
func (s *AcceptanceStore) answerWrite(a acceptance.Command) types.TransactWriteItem {
	row := idempotencyKey(a.Batch.Tenant, a.ClientID, a.IdempotencyKey)
	row["bodyHash"] = bytesOf(a.Answer.BodyHash)
	row[TTL] = number(a.AnswerUntil.Unix())
	if a.Answer.BlobKey != "" {
		row["blobKey"] = text(a.Answer.BlobKey)
	} else {
		row["body"] = bytesOf(a.Answer.Body)
	}
	return s.putIfAbsentOrExpired(row)
}
