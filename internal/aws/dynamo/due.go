package dynamo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/sweep/overdue"
)

// duePage is the page size. Many shards are read concurrently.
const duePage = 250

var errBadKey = errors.New("not a batch key")

// Due yields the due batches, circuits, campaigns and submissions of one of DueShards, the
// longest overdue first. The index is eventually consistent, so items may have changed. The
// sequence ends at the first error.
func (s *BatchStore) Due(ctx context.Context, shard int, now time.Time) iter.Seq2[overdue.Item, error] {
	in := queryOf(s.Campaigns, "#due = :shard AND nextCheck <= :now", Item{":shard": text(strconv.Itoa(shard)), ":now": millis(now)})
	in.IndexName, in.Limit = aws.String(DueIndex), aws.Int32(duePage)
	return decoded(s.each(ctx, fmt.Sprintf("read due items of shard %d", shard), in), readDue)
}

// Waits yields the batches of a tenant that wait, see campaign.Waits. The index is eventually consistent, so they
// may have changed. The sequence ends at the first error.
func (s *BatchStore) Waits(ctx context.Context, tenant string) iter.Seq2[campaign.BatchRef, error] {
	in := queryOf(s.Campaigns, "listOf = :of", Item{":of": text(waitsPrefix + tenant)})
	in.IndexName = aws.String(CampaignsIndex)
	return decoded(s.each(ctx, "read the waiting batches of tenant "+tenant, in), batchRef)
}

// waitsItem returns the attributes that list a batch in CampaignsIndex while it waits, those with messages that never go
// first.
func waitsItem(b campaign.Batch) Item {
	as := b.CampaignID + "#" + b.BatchID
	if b.NeverOpen.Zones&b.Waits.Zones != 0 {
		as = neverPrefix + as
	}
	return Item{"listOf": text(waitsPrefix + b.Tenant), "listAs": text(as)}
}

// closedItem returns the attributes of the zones of a batch whose send windows are closed, none without such zones.
func closedItem(b campaign.Batch) Item {
	return Item{
		"waitingZones": number(int64(b.Waits.Zones)),
		"neverZones":   number(int64(b.NeverOpen.Zones)), "neverSince": millis(b.NeverOpen.Since),
	}
}

func readDue(row Item) (overdue.Item, error) {
	check := getMillis(row, "nextCheck")
	if task, ok := readCircuitKey(row); ok {
		return overdue.Item{Delivery: &task, Check: check}, nil
	}
	if id, ok := campaignOf(row); ok && getText(row, "sk") == metaSK {
		return overdue.Item{Campaign: &id, Check: check}, nil
	}
	if id, ok := submissionOf(row); ok {
		return overdue.Item{Submission: &id, Check: check}, nil
	}
	ref, err := batchRef(row)
	return overdue.Item{Batch: ref, Check: check}, err
}

// batchRef decodes a key of batchKey. Campaign IDs contain no #.
func batchRef(row Item) (ref campaign.BatchRef, err error) {
	id, ofCampaign := campaignOf(row)
	batchID, isBatch := strings.CutPrefix(getText(row, "sk"), batchPrefix)
	if !ofCampaign || !isBatch {
		return ref, errBadKey
	}
	return campaign.BatchRef{ID: id, BatchID: batchID}, nil
}

func campaignOf(row Item) (id campaign.ID, ok bool) {
	rest, ok := strings.CutPrefix(getText(row, "pk"), campaignPrefix)
	at := strings.LastIndexByte(rest, '#')
	if !ok || at < 0 {
		return id, false
	}
	return campaign.ID{Tenant: rest[:at], CampaignID: rest[at+1:]}, true
}

// StartRelease moves a due pending batch to releasing and records its agent, and reports
// whether it did.
func (s *BatchStore) StartRelease(ctx context.Context, ref campaign.BatchRef, agentID string, now, nextCheck time.Time) (bool, error) {
	const update, condition = "SET #state = :to, #due = :shard, nextCheck = :next, agentId = :agent", "#state = :from AND dueAt <= :now"
	return s.updateBatch(ctx, ref, update, condition, Item{
		":from": text(campaign.BatchPending), ":to": text(campaign.BatchReleasing), ":agent": text(agentID),
		":now": millis(now), ":next": millis(nextCheck), ":shard": text(s.dueShard(ref)),
	})
}

// EndRelease moves a releasing batch to sending, with the zones that wait, and reports whether it did.
// An existing next check is kept if keep is set, because the send function may already have postponed it.
func (s *BatchStore) EndRelease(ctx context.Context, b campaign.Batch, nextCheck time.Time, keep bool) (bool, error) {
	values := Item{
		":from": text(campaign.BatchReleasing), ":to": text(campaign.BatchSending),
		":next": millis(nextCheck), ":shard": text(s.dueShard(b.BatchRef)),
	}
	update := "SET #state = :to, #due = :shard, nextCheck = :next"
	if keep {
		update = "SET #state = :to, #due = :shard, nextCheck = if_not_exists(nextCheck, :next)"
	}
	if b.Waits.Zones != 0 {
		update += ", " + assign(with(waitsItem(b), some(closedItem(b))), values)
	}
	return s.updateBatch(ctx, b.BatchRef, update, "#state = :from", values)
}

// MarkSent moves a batch whose messages all have outcomes to sent, and reports whether
// it did. Sweep checks it at nextCheck, when all delivery statuses should have arrived.
func (s *BatchStore) MarkSent(ctx context.Context, ref campaign.BatchRef, nextCheck time.Time) (bool, error) {
	values := Item{":to": text(campaign.BatchSent), ":next": millis(nextCheck), ":shard": text(s.dueShard(ref))}
	condition := stateIn(values, campaign.BatchReleasing, campaign.BatchSending)
	return s.updateBatch(ctx, ref, "SET #state = :to, #due = :shard, nextCheck = :next", condition, values)
}

// stateIn returns the condition that a batch has one of the states, and adds their values.
func stateIn(values Item, states ...campaign.BatchState) string {
	names := make([]string, len(states))
	for i, state := range states {
		names[i] = ":" + string(state)
		values[names[i]] = text(state)
	}
	return "#state IN (" + strings.Join(names, ", ") + ")"
}

// CompleteBatch moves a batch whose messages all have final outcomes to completed, counts it in its campaign, removes
// its reservation and frees the unused part of it. It reports whether it did: not if the batch was completed before, or
// has another reservation. Sweep keeps checking it until CloseBatch, because the campaign may be complete too.
func (s *BatchStore) CompleteBatch(
	ctx context.Context, b campaign.Batch, unused campaign.Money, nextCheck time.Time,
) (completed bool, err error) {
	doing := "complete batch " + b.BatchID
	err = untilDecided(ctx, doing, maxEdits, func(int) error {
		reasons, err := s.transact(ctx, s.completion(b, unused, nextCheck), rand.Text())
		if err == nil && slices.ContainsFunc(reasons, isConflict) {
			err = campaign.ErrLostRace
		}
		if err != nil {
			return fmt.Errorf("%s: %w", doing, err)
		}
		completed = len(reasons) == 0
		return nil
	})
	return completed, err
}

func (s *BatchStore) completion(b campaign.Batch, unused campaign.Money, nextCheck time.Time) []types.TransactWriteItem {
	now := millis(s.Now()) // the batch that was completed last has the time of its campaign
	values := Item{":to": text(campaign.BatchCompleted), ":next": millis(nextCheck), ":shard": text(s.dueShard(b.BatchRef)), ":now": now}
	condition := stateIn(values, campaign.BatchReleasing, campaign.BatchSending, campaign.BatchSent)
	const update = "SET #state = :to, #due = :shard, nextCheck = :next, closedAt = :now"
	items := []types.TransactWriteItem{s.update(batchKey(b.BatchRef), update, condition, values)}
	if b.Reserved > 0 {
		items = s.releasing(b, unused, update, condition, values)
	}
	counted := s.update(progressKey(b.ID), "SET completedAt = :now ADD completed :one", "", Item{":one": number(1), ":now": now})
	return append(items, counted)
}

// Progress returns the completed and total batches of a campaign.
func (s *BatchStore) Progress(ctx context.Context, id campaign.ID) (campaign.Progress, error) {
	rows, err := s.rows(ctx, "read the progress of campaign "+id.CampaignID, progressRows(id))
	if err != nil {
		return campaign.Progress{}, err
	}
	return s.readProgress(rows), nil
}

// progressRows are the keys of the rows of a campaign's progress, for readProgress.
func progressRows(id campaign.ID) map[string]Item {
	return map[string]Item{"meta": metaKey(id), "progress": progressKey(id)}
}

func (s *BatchStore) readProgress(rows map[string]Item) campaign.Progress {
	file := s.readTotals(rows["meta"])
	return campaign.Progress{
		Completed: getInt(rows["progress"], "completed"), CompletedAt: getMillis(rows["progress"], "completedAt"),
		Batches: getInt(rows["meta"], "batches"), Cancelled: getBool(rows["meta"], "cancelled"),
		PausedAt: getMillis(rows["meta"], "pausedAt"), PartsToCome: file.PartsToCome,
		Holding: file.Holding() > 0,
	}
}

// PostponeCheck sets a batch's next check, and what waits, if its next check is unchanged since it was read. It
// reports whether it did. A batch that was cancelled since it was read does not begin to wait.
func (s *BatchStore) PostponeCheck(ctx context.Context, b campaign.Batch, next time.Time) (bool, error) {
	condition := "attribute_exists(#due) AND nextCheck = :read"
	values := Item{":read": millis(b.NextCheck)}
	if b.Waits.Any() && !b.Cancelled() {
		condition += " AND attribute_not_exists(cancelledAt)"
	}
	set := some(with(waitsOf(b), Item{"nextCheck": millis(next)}))
	if b.Waits.Any() {
		with(set, waitsItem(b))
	}
	update := "SET " + assign(set, values)
	unset := slices.DeleteFunc([]string{"waiting", "waitingZones", "neverZones", "neverSince", "listOf", "listAs"}, func(name string) bool { return set[name] != nil })
	if len(unset) > 0 {
		update += " REMOVE " + strings.Join(unset, ", ")
	}
	return s.updateBatch(ctx, b.BatchRef, update, condition, values)
}

// SetFailingTime updates a batch's failing time if it is unchanged since it was read, and
// reports whether it did. The zero FailingTime always replaces it.
func (s *BatchStore) SetFailingTime(ctx context.Context, b campaign.Batch, failing campaign.FailingTime) (bool, error) {
	if failing == (campaign.FailingTime{}) {
		return s.updateBatch(ctx, b.BatchRef, "REMOVE failingMillis, failedAt", "attribute_exists(failedAt)", nil)
	}
	condition := "failedAt = :read"
	values := Item{":for": number(failing.For.Milliseconds()), ":at": millis(failing.At), ":read": millis(b.FailingTime.At)}
	if b.FailingTime.At.IsZero() {
		condition = "attribute_exists(pk) AND attribute_not_exists(failedAt)"
		delete(values, ":read")
	}
	return s.updateBatch(ctx, b.BatchRef, "SET failingMillis = :for, failedAt = :at", condition, values)
}

// CloseBatch removes a completed or cancelled batch from DueIndex and from the batches that wait. If the batch has a
// reservation, it also removes it and releases the unused part of it. The error wraps
// campaign.ErrLostRace if the reservation has changed since the batch was read.
func (s *BatchStore) CloseBatch(ctx context.Context, b campaign.Batch, unused campaign.Money) error {
	const update = "REMOVE #due, nextCheck, listOf, listAs"
	values := Item{}
	condition := stateIn(values, campaign.BatchCompleted, campaign.BatchCancelled)
	return untilDecided(ctx, "close batch "+b.BatchID, maxEdits, func(int) error {
		if b.Reserved > 0 {
			if err := s.releaseWith(ctx, b, unused, update, condition, values); !errors.Is(err, campaign.ErrLostRace) {
				return err
			}
		}
		_, reserved, err := s.updateUnreserved(ctx, b.BatchRef, update, condition, values)
		switch {
		case err != nil || reserved == nil || !reserved.Closed():
			return err
		case reserved.Reserved != b.Reserved || reserved.ReservedOn != b.ReservedOn: // unused is that of another reservation
			return final{fmt.Errorf("close batch %s: %w", b.BatchID, campaign.ErrLostRace)}
		}
		return fmt.Errorf("close batch %s: %w", b.BatchID, campaign.ErrLostRace)
	})
}

func (t *table) updateBatch(ctx context.Context, ref campaign.BatchRef, update, condition string, values Item) (bool, error) {
	return t.write(ctx, "update batch "+ref.BatchID, t.update(batchKey(ref), update, condition, values))
}
