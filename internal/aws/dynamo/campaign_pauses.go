package dynamo

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/campaign"
)

// PauseCampaign pauses a campaign from at, and returns since when it is paused: a campaign that is paused stays so. The
// error wraps campaign.ErrLostRace if the campaign is cancelled, campaign.ErrNotFound if it is being deleted,
// campaign.ErrCompleted, and campaign.ErrTooManyPaused.
func (s *BatchStore) PauseCampaign(ctx context.Context, id campaign.ID, at time.Time) (since time.Time, err error) {
	doing := "pause campaign " + id.CampaignID
	err = untilDecided(ctx, doing, maxEdits, func(try int) error {
		rows, err := s.rows(ctx, doing, progressRows(id))
		if err != nil {
			return err
		}
		if since = getMillis(rows["meta"], "pausedAt"); !since.IsZero() {
			return nil
		}
		if err := s.mayPause(rows); err != nil {
			return final{fmt.Errorf("%s: %w", doing, err)}
		}
		since = at.Add(time.Duration(try) * time.Millisecond) // a pause that began and ended meanwhile is another
		return s.beginPause(ctx, doing, id, since, rows)
	})
	return since, err
}

// mayPause returns why a campaign cannot be paused, given its progressRows.
func (s *BatchStore) mayPause(rows map[string]Item) error {
	meta := rows["meta"]
	switch {
	case meta == nil || getBool(meta, expiring):
		return campaign.ErrNotFound
	case meta["cancelledAt"] != nil:
		return campaign.ErrLostRace
	case s.readProgress(rows).IsCompleted():
		return campaign.ErrCompleted
	}
	return nil
}

// beginPause pauses a campaign. The error wraps campaign.ErrTooManyPaused, or campaign.ErrLostRace if the progressRows have
// changed so that it may be over: nothing would end the pause of a completed campaign.
func (s *BatchStore) beginPause(ctx context.Context, doing string, id campaign.ID, at time.Time, rows map[string]Item) error {
	unchanged, values := present+" AND "+notExpiring+" AND attribute_not_exists(cancelledAt) AND attribute_not_exists(pausedAt) AND batches = :batches",
		Item{":at": millis(at), ":batches": rows["meta"]["batches"]}
	if toCome := rows["meta"]["partsToCome"]; toCome != nil {
		unchanged, values[":parts"] = unchanged+" AND partsToCome = :parts", toCome
	}
	writes := []types.TransactWriteItem{
		s.update(metaKey(id), "SET pausedAt = :at", unchanged, values),
		s.update(pausedCampaignsKey(id.Tenant), "ADD campaigns :ids",
			"attribute_not_exists(campaigns) OR size(campaigns) < :most OR contains(campaigns, :id)",
			Item{":ids": texts(id.CampaignID), ":id": text(id.CampaignID), ":most": number(campaign.MaxPaused)}),
	}
	if s.readProgress(rows).PartsToCome == 0 { // it counts nothing: the functions that pause may not only check rows
		writes = append(writes, s.update(progressKey(id), "ADD completed :none", "attribute_not_exists(completed) OR completed < :batches",
			Item{":none": number(0), ":batches": rows["meta"]["batches"]}))
	}
	reasons, err := s.transact(ctx, writes, rand.Text())
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", doing, err)
	case len(reasons) == 0:
		return nil
	case !failedCondition(reasons[0]) && failedCondition(reasons[1]):
		return fmt.Errorf("%s: %w", doing, campaign.ErrTooManyPaused)
	}
	return fmt.Errorf("%s: %w", doing, campaign.ErrLostRace)
}

// EndPause ends the pause of a campaign that p says is completed, unless it was resumed or got another batch since p was
// read. It records the end for Resumed: a function that still knows the pause can hold a batch that is added now.
func (s *BatchStore) EndPause(ctx context.Context, id campaign.ID, p campaign.Progress) error {
	doing := "end the pause of campaign " + id.CampaignID
	meta := s.update(metaKey(id), "REMOVE pausedAt", "pausedAt = :since AND batches = :batches",
		Item{":since": millis(p.PausedAt), ":batches": number(p.Batches)})
	reasons, err := s.transact(ctx, []types.TransactWriteItem{meta, s.unpaused(id, ""), s.resumed(campaign.PauseSubject(id))}, rand.Text())
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", doing, err)
	case len(reasons) > 0 && !failedCondition(reasons[0]):
		return fmt.Errorf("%s: %w", doing, campaign.ErrLostRace)
	}
	return nil
}

// ResumeCampaign ends the pause of a campaign that began at since, and records its end for Resumed. The error
// wraps campaign.ErrLostRace if that pause is over.
func (s *BatchStore) ResumeCampaign(ctx context.Context, id campaign.ID, since time.Time) error {
	meta := s.update(metaKey(id), "REMOVE pausedAt", "pausedAt = :since", Item{":since": millis(since)})
	return s.writeAll(ctx, "resume campaign "+id.CampaignID, meta, s.unpaused(id, ""), s.resumed(campaign.PauseSubject(id)))
}

// unpaused removes a campaign from the paused ones of its tenant.
func (t *table) unpaused(id campaign.ID, condition string) types.TransactWriteItem {
	values := Item{":ids": texts(id.CampaignID)}
	if condition != "" {
		values[":id"] = text(id.CampaignID)
	}
	return t.update(pausedCampaignsKey(id.Tenant), "DELETE campaigns :ids", condition, values)
}

// dropPause removes what a pause leaves of a campaign that is over.
func (t *table) dropPause(ctx context.Context, id campaign.ID) error {
	return t.tryWrite(ctx, "remove the pause of campaign "+id.CampaignID, t.unpaused(id, "contains(campaigns, :id)"))
}

// resumed records the end of a pause. It is an update: the campaigns function may not put rows here.
func (t *table) resumed(subject string) types.TransactWriteItem {
	ended, values := Item{}, Item{}
	setEnd(ended, t.Now().Add(resumedFor))
	return t.update(resumedKey(subject), "SET "+assign(ended, values), "", values)
}

// PausedCampaigns returns the paused campaigns of the tenants with the start of each pause.
func (s *TenantStore) PausedCampaigns(ctx context.Context, tenants []campaign.Tenant) (map[campaign.ID]time.Time, error) {
	const doing = "read the paused campaigns"
	keys := map[string]Item{}
	for _, tenant := range tenants {
		keys[tenant.ID] = pausedCampaignsKey(tenant.ID)
	}
	paused, err := s.rows(ctx, doing, keys)
	if err != nil {
		return nil, err
	}
	campaigns, metas := map[string]campaign.ID{}, map[string]Item{}
	for tenant, row := range paused {
		for _, campaignID := range getTexts(row, "campaigns") {
			id := campaign.ID{Tenant: tenant, CampaignID: campaignID}
			name := campaign.PauseSubject(id)
			campaigns[name], metas[name] = id, metaKey(id)
		}
	}
	rows, err := s.rowsFrom(ctx, doing, s.Campaigns, metas, "pausedAt")
	if err != nil {
		return nil, err
	}
	pauses := map[campaign.ID]time.Time{}
	for name, meta := range rows {
		pauses[campaigns[name]] = getMillis(meta, "pausedAt")
	}
	return pauses, nil
}
