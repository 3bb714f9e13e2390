package dynamo

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch/acceptance"
)

// Snapshot reads the rows needed to accept a dispatch call, in one round of concurrent
// calls. All reads are consistent except those of the packed sets. Packed sets are
// never extended, so the caller detects missing ones by their ordinals and repeats the query
// with Consistent.
func (s *CampaignStore) Snapshot(ctx context.Context, q acceptance.Query) (acceptance.State, error) {
	keys := s.queryKeys(q)
	var rows map[string]Item
	var sets []acceptance.PackedSet
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) { rows, err = s.batchGet(ctx, keys); return err })
	if q.CampaignID != "" {
		group.Go(func() (err error) { sets, err = s.packedSets(ctx, q); return err })
	}
	if err := group.Wait(); err != nil {
		return acceptance.State{}, fmt.Errorf("read the rows of a dispatch call: %w", err)
	}
	snapshot, err := s.readSnapshot(q, keys, rows)
	snapshot.Sets = sets
	return snapshot, err
}

func (s *CampaignStore) queryKeys(q acceptance.Query) map[string]rowKey {
	id := campaign.ID{Tenant: q.Tenant, CampaignID: q.CampaignID}
	priced := q.TemplateID != "" && q.Tenant != ""
	return wantedKeys([]wantedKey{
		{"credential", q.ClientID != "", s.Auth, credentialKey(q.ClientID)},
		{"calls", q.Calls, s.Auth, callsKey(q.Tenant)},
		{"answer", q.IdempotencyKey != "", s.Campaigns, idempotencyKey(q.Tenant, q.ClientID, q.IdempotencyKey)},
		{"billing", priced, s.Campaigns, billingKey(q.Tenant)},
		{"policy", priced, s.Campaigns, tenantHoursKey(q.Tenant)},
		{"budget", priced, s.Campaigns, budgetKey(q.Tenant, q.Month)},
		{"template", q.TemplateID != "", s.Campaigns, askedTemplateKey(q)},
		{"name", q.Name != "", s.Campaigns, nameKey(q.Tenant, q.Name)},
		{"meta", q.CampaignID != "", s.Campaigns, metaKey(id)},
		{"batch", q.CampaignID != "" && q.BatchID != "", s.Campaigns, batchKey(campaign.BatchRef{ID: id, BatchID: q.BatchID})},
	})
}

// askedTemplateKey returns the key of the current version of a template, or of the one that is asked for.
func askedTemplateKey(q acceptance.Query) Item {
	if q.TemplateVersion == 0 {
		return templateKey(q.TemplateID)
	}
	return templateVersionKey(q.TemplateID, q.TemplateVersion)
}

func (s *CampaignStore) readSnapshot(
	q acceptance.Query, keys map[string]rowKey, rows map[string]Item,
) (snapshot acceptance.State, err error) {
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
		if getBool(r, expiring) {
			return snapshot, fmt.Errorf("campaign %s is being deleted: %w", q.CampaignID, campaign.ErrLostRace)
		}
		snapshot.Meta = &acceptance.Meta{
			Name: getText(r, "name"), CreatedAt: getMillis(r, "createdAt"), Batches: getInt(r, "batches"),
			Cancelled: getBool(r, "cancelled"), Move: readMove(r), Test: getBool(r, "test"), Submission: s.readTotals(r),
		}
	}
	snapshot.NameOwner = getText(row("name"), "campaignId")
	snapshot.Calls = readCalls(rows[keys["calls"].id()]) // expired rows too, so that the period does not restart
	snapshot.Billing = readBilling(row("billing"))
	if snapshot.Hours, err = readTenantHours(row("policy")); err != nil {
		return snapshot, err
	}
	snapshot.Reserved = readMonth(row("budget"), q.Month)
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

func (s *CampaignStore) packedSets(ctx context.Context, q acceptance.Query) ([]acceptance.PackedSet, error) {
	id := campaign.ID{Tenant: q.Tenant, CampaignID: q.CampaignID}
	in := queryOf(s.Campaigns, "pk = :pk AND sk BETWEEN :from AND :to", Item{
		":pk": metaKey(id)["pk"], ":from": text(setSK(q.KnownSets + 1)), ":to": text(setPrefix + "~"),
	}, "sk", "packed")
	in.ConsistentRead = aws.Bool(q.Consistent)
	var sets []acceptance.PackedSet
	for row, err := range s.each(ctx, "read packed sets of campaign "+id.CampaignID, in) {
		if err != nil {
			return nil, err
		}
		ordinal, err := strconv.Atoi(strings.TrimPrefix(getText(row, "sk"), setPrefix))
		if err != nil {
			return nil, fmt.Errorf("read the ordinal of a packed set: %w", err)
		}
		sets = append(sets, acceptance.PackedSet{Ordinal: ordinal, Packed: getBinary(row, "packed")})
	}
	return sets, nil
}

// PackedSets reads the packed sets of all batches of a campaign.
func (s *CampaignStore) PackedSets(ctx context.Context, id campaign.ID) ([]acceptance.PackedSet, error) {
	return s.packedSets(ctx, acceptance.Query{Tenant: id.Tenant, CampaignID: id.CampaignID, Consistent: true})
}

// Accept writes an accepted dispatch call in one transaction. The error wraps
// campaign.ErrLostRace if a row changed since it was read, or if the budget has no room left:
// the caller reads it again. After any other error, the transaction may have been committed.
func (s *CampaignStore) Accept(ctx context.Context, a acceptance.Command, token string) error {
	a.Batch.Ordinal = a.Ordinal
	items := []types.TransactWriteItem{
		s.metaWrite(a),
		s.putIfAbsentOrExpired(s.batchRow(a.Batch)),
		s.putNew(with(setKey(a.Batch.ID, a.Ordinal), Item{"packed": bytesOf(a.Packed)})),
	}
	if a.Batch.Accepted > 0 { // the first events can arrive before the first message is recorded
		items = append(items, s.putNew(identityRow(a.Batch)))
	}
	if a.Ordinal == 1 {
		items = append(items, s.putNew(with(nameKey(a.Batch.Tenant, a.Campaign), Item{"campaignId": text(a.Batch.CampaignID)})))
	}
	if a.IdempotencyKey != "" {
		items = append(items, s.answerWrite(a))
	}
	if b := a.Batch; b.Reserved > 0 {
		items = append(items, s.changeBudgets(b.Tenant, campaign.Reserve(b.ReservedOn, b.Reserved, a.Limits))...)
	}
	return s.writeAllAs(ctx, "accept batch "+a.Batch.BatchID, token, items...)
}

func identityRow(b campaign.Batch) Item {
	row := with(identityKey(b.Key), Item{
		"tenant": text(b.Tenant), "campaignId": text(b.CampaignID), "batchId": text(b.BatchID), "accepted": number(b.Accepted),
	})
	setEnd(row, b.ExpiresAt())
	return row
}

// metaWrite creates the campaign, or increments its batch count if it is unchanged.
func (s *CampaignStore) metaWrite(a acceptance.Command) types.TransactWriteItem {
	if a.Ordinal == 1 {
		return s.putNew(s.newMeta(a))
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
	condition := "batches = :read AND createdAt = :created AND attribute_not_exists(cancelled) AND " + notExpiring
	if a.Batch.Part != "" {
		condition += " AND " + unmoved(a.Moves, values)
	}
	if a.Submission.Known() {
		update, condition = update+", "+assign(totalsItem(a.Submission), values), condition+" AND "+takesPart
	}
	return s.update(metaKey(a.Batch.ID), update+" ADD accepted :more", condition, values)
}

func (s *CampaignStore) newMeta(a acceptance.Command) Item {
	b := a.Batch
	row := with(metaKey(b.ID), Item{
		"name": text(a.Campaign), "batches": number(1), "accepted": number(b.Accepted),
		"listOf": text(b.Tenant), "listAs": text(listAs(listedAt(b), b.CampaignID)),
		"createdAt": millis(b.AcceptedAt), "lastAt": millis(b.AcceptedAt),
		"due": text(s.dueShard(campaign.BatchRef{ID: b.ID})), "nextCheck": millis(b.ExpiresAt()),
	})
	with(row, some(Item{"anyScheduled": boolean(b.Scheduled), "askedBy": text(a.AskedBy), "test": boolean(b.Test), "templateId": text(b.TemplateID)}))
	return with(row, totalsItem(a.Submission))
}

func (s *CampaignStore) answerWrite(a acceptance.Command) types.TransactWriteItem {
	row := with(idempotencyKey(a.Batch.Tenant, a.ClientID, a.IdempotencyKey), Item{
		"bodyHash": bytesOf(a.Answer.BodyHash), TTL: number(a.AnswerUntil.Unix()),
	})
	if a.Answer.BlobKey != "" {
		row["blobKey"] = text(a.Answer.BlobKey)
	} else {
		row["body"] = bytesOf(a.Answer.Body)
	}
	return s.putIfAbsentOrExpired(row)
}
