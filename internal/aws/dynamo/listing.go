package dynamo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/campaign"
)

// listedAt is the time by which a campaign is listed: when its first batch goes, or was
// accepted. It never changes, so a campaign that moves is not missed by a caller that reads
// the whole list.
func listedAt(first campaign.Batch) time.Time {
	if first.Scheduled {
		return first.Due
	}
	return first.AcceptedAt
}

// listAs is a sort key by time.
func listAs(at time.Time, campaignID string) string {
	return fmt.Sprintf("%014d#%s", at.UnixMilli(), campaignID)
}

// ListCampaigns returns up to limit campaigns of a tenant after a cursor, those that go last
// first. It is eventually consistent.
func (s *CampaignStore) ListCampaigns(ctx context.Context, tenant, after string, limit int32) ([]campaign.Listed, error) {
	condition, values := "listOf = :tenant", Item{":tenant": text(tenant)}
	if after != "" {
		condition, values[":after"] = condition+" AND listAs < :after", text(after)
	}
	return s.listCampaigns(ctx, tenant, condition, values, false, limit)
}

// RecentCampaigns is ListCampaigns for those that go before a time.
func (s *CampaignStore) RecentCampaigns(ctx context.Context, tenant string, before time.Time, limit int32) ([]campaign.Listed, error) {
	return s.ListCampaigns(ctx, tenant, listAs(before, ""), limit)
}

// NextCampaigns returns up to limit campaigns of a tenant that go from a time on, those that go
// first first. A campaign that was rescheduled is at its first time. It is eventually consistent.
func (s *CampaignStore) NextCampaigns(ctx context.Context, tenant string, from time.Time, limit int32) ([]campaign.Listed, error) {
	values := Item{":tenant": text(tenant), ":from": text(listAs(from, ""))}
	return s.listCampaigns(ctx, tenant, "listOf = :tenant AND listAs >= :from", values, true, limit)
}

func (s *CampaignStore) listCampaigns(ctx context.Context, tenant, condition string, values Item, forward bool, limit int32) ([]campaign.Listed, error) {
	out, err := s.Client.Query(ctx, &dynamodb.QueryInput{
		TableName: &s.Campaigns, IndexName: aws.String(CampaignsIndex), KeyConditionExpression: &condition,
		ExpressionAttributeValues: values, ScanIndexForward: &forward, Limit: &limit,
	})
	if err != nil {
		return nil, fmt.Errorf("list campaigns: %w", err)
	}
	list := make([]campaign.Listed, len(out.Items))
	for i, row := range out.Items {
		as := getText(row, "listAs")
		_, id, _ := strings.Cut(as, "#")
		list[i] = campaign.Listed{
			ID: campaign.ID{Tenant: tenant, CampaignID: id}, Name: getText(row, "name"),
			CreatedAt: getMillis(row, "createdAt"), Cursor: as, Test: getBool(row, "test"),
		}
	}
	return list, nil
}

// Standings returns the summaries of up to 50 campaigns by ID.
func (s *CampaignStore) Standings(ctx context.Context, tenant string, campaignIDs []string) (map[string]campaign.Summary, error) {
	rows, err := s.summaryRows(ctx, tenant, campaignIDs, false)
	standings := map[string]campaign.Summary{}
	for id, r := range rows {
		standings[id] = s.summary(r)
	}
	return standings, err
}

// StandingsAndResults is Standings with the stored results, for up to 33 campaigns.
func (s *CampaignStore) StandingsAndResults(ctx context.Context, tenant string, campaignIDs []string) (map[string]campaign.Summary, map[string]campaign.Results, error) {
	rows, err := s.summaryRows(ctx, tenant, campaignIDs, true)
	standings, results := map[string]campaign.Summary{}, map[string]campaign.Results{}
	for id, r := range rows {
		standings[id] = s.summary(r)
		if r.results != nil {
			results[id] = readResults(r.results)
		}
	}
	return standings, results, err
}

// summaryRows are rows of a campaign, nil for those that do not exist.
type summaryRows struct{ meta, progress, results Item }

// summaryAttributes are the attributes of META and PROGRESS rows in a summary.
var summaryAttributes = slices.Concat(totalsAttributes, []string{"batches", "accepted", "completed", "anyScheduled", "cancelledAt", "name", "moves"})

// summaryRows reads the rows of campaigns by ID.
func (s *CampaignStore) summaryRows(ctx context.Context, tenant string, campaignIDs []string, withResults bool) (map[string]summaryRows, error) {
	if len(campaignIDs) == 0 {
		return nil, nil
	}
	keys, attributes := map[string]Item{}, summaryAttributes
	if withResults {
		attributes = nil
	}
	for _, c := range campaignIDs {
		id := campaign.ID{Tenant: tenant, CampaignID: c}
		keys[c], keys[c+" progress"] = metaKey(id), progressKey(id)
		if withResults {
			keys[c+" results"] = resultsKey(id)
		}
	}
	rows, err := s.rowsFrom(ctx, s.Campaigns, keys, attributes...)
	if err != nil {
		return nil, fmt.Errorf("read the progress of %d campaigns: %w", len(campaignIDs), err)
	}
	found := make(map[string]summaryRows, len(campaignIDs))
	for _, c := range campaignIDs {
		found[c] = summaryRows{rows[c], rows[c+" progress"], rows[c+" results"]}
	}
	return found, nil
}

func (t *table) summary(r summaryRows) campaign.Summary {
	return campaign.Summary{
		Batches: int(getNumber(r.meta, "batches")), Accepted: int(getNumber(r.meta, "accepted")),
		Completed: int(getNumber(r.progress, "completed")),
		Scheduled: getBool(r.meta, "anyScheduled"), CancelledAt: getMillis(r.meta, "cancelledAt"),
		Name: getText(r.meta, "name"), Moves: int(getNumber(r.meta, "moves")),
		Submission: t.readTotals(r.meta),
	}
}
