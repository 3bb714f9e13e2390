package dynamo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/insight"
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

func listAs(at time.Time, campaignID string) string { return campaign.CursorAt(at) + campaignID }

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

// WaitingCampaigns returns up to limit campaigns of a tenant with batches that wait, see BatchStore.Waits: first those with
// messages that never go, then the others, in the order of their IDs. It makes a query for each, however many batches they
// have. It is eventually consistent.
func (s *CampaignStore) WaitingCampaigns(ctx context.Context, tenant string, limit int) (ids []campaign.ID, err error) {
	const before, after = " ", "#~" // the first is before every batch, the second after every batch of a campaign
	for from := before; len(ids) < limit; {
		in := queryOf(s.Campaigns, "listOf = :of AND listAs > :from", Item{":of": text(waitsPrefix + tenant), ":from": text(from)})
		in.IndexName, in.Limit = aws.String(CampaignsIndex), aws.Int32(1)
		out, err := s.Client.Query(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("list the campaigns that wait: %w", err)
		}
		if len(out.Items) == 0 {
			break
		}
		ref, err := batchRef(out.Items[0])
		if err != nil {
			return nil, fmt.Errorf("list the campaigns that wait: %w", err)
		}
		if !slices.Contains(ids, ref.ID) {
			ids = append(ids, ref.ID)
		}
		from = strings.TrimSuffix(getText(out.Items[0], "listAs"), "#"+ref.BatchID) + after
	}
	return ids, nil
}

func (s *CampaignStore) listCampaigns(
	ctx context.Context, tenant, condition string, values Item, forward bool, limit int32,
) ([]campaign.Listed, error) {
	in := queryOf(s.Campaigns, condition, values)
	in.IndexName, in.ScanIndexForward, in.Limit = aws.String(CampaignsIndex), &forward, &limit
	out, err := s.Client.Query(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("list campaigns: %w", err)
	}
	return readAll(out.Items, func(row Item) campaign.Listed {
		as := getText(row, "listAs")
		_, id, _ := strings.Cut(as, "#")
		return campaign.Listed{
			ID: campaign.ID{Tenant: tenant, CampaignID: id}, Name: getText(row, "name"),
			CreatedAt: getMillis(row, "createdAt"), Cursor: as, Test: getBool(row, "test"),
		}
	}), nil
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
func (s *CampaignStore) StandingsAndResults(
	ctx context.Context, tenant string, campaignIDs []string,
) (map[string]campaign.Summary, map[string]insight.Results, error) {
	rows, err := s.summaryRows(ctx, tenant, campaignIDs, true)
	standings, results := map[string]campaign.Summary{}, map[string]insight.Results{}
	for id, r := range rows {
		standings[id] = s.summary(r)
		if r.results != nil {
			results[id] = readResults(r.results)
		}
	}
	return standings, results, err
}

type summaryRows struct{ meta, progress, results Item }

var summaryAttributes = slices.Concat(totalsAttributes, []string{
	"batches", "accepted", "completed", "completedAt", "anyScheduled", "cancelledAt", "stoppedAt", "pausedAt", "name", "moves", "movedTo", "templateId",
})

func (s *CampaignStore) summaryRows(
	ctx context.Context, tenant string, campaignIDs []string, withResults bool,
) (map[string]summaryRows, error) {
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
	rows, err := s.rowsFrom(ctx, fmt.Sprintf("read the progress of %d campaigns", len(campaignIDs)), s.Campaigns, keys, attributes...)
	if err != nil {
		return nil, err
	}
	found := make(map[string]summaryRows, len(campaignIDs))
	for _, c := range campaignIDs {
		found[c] = summaryRows{rows[c], rows[c+" progress"], rows[c+" results"]}
	}
	return found, nil
}

func (t *table) summary(r summaryRows) campaign.Summary {
	return campaign.Summary{
		Batches: getInt(r.meta, "batches"), Accepted: getInt(r.meta, "accepted"),
		Completed: getInt(r.progress, "completed"), CompletedAt: getMillis(r.progress, "completedAt"),
		Scheduled: getBool(r.meta, "anyScheduled"), CancelledAt: getMillis(r.meta, "cancelledAt"), StoppedAt: getMillis(r.meta, "stoppedAt"),
		PausedAt: getMillis(r.meta, "pausedAt"),
		Name:     getText(r.meta, "name"), TemplateID: getText(r.meta, "templateId"), Moves: getInt(r.meta, "moves"),
		Submission: t.readTotals(r.meta),
	}
}

// Results returns the stored results of up to 50 campaigns by ID.
func (s *OutcomeStore) Results(ctx context.Context, tenant string, campaignIDs []string) (map[string]insight.Results, error) {
	doing := fmt.Sprintf("read the results of %d campaigns", len(campaignIDs))
	rows, err := s.rowsOf(ctx, doing, s.Campaigns, campaignIDs, func(id string) Item {
		return resultsKey(campaign.ID{Tenant: tenant, CampaignID: id})
	})
	if err != nil {
		return nil, err
	}
	results := make(map[string]insight.Results, len(rows))
	for id, row := range rows {
		results[id] = readResults(row)
	}
	return results, nil
}

// KeepResults stores results without their opt-outs, unless newer ones are stored. It stores none of a campaign
// without batches.
func (s *OutcomeStore) KeepResults(ctx context.Context, id campaign.ID, r insight.Results) error {
	if r.ExpiresAt.IsZero() {
		return nil
	}
	row, values := resultFields(&r).item(), Item{":at": millis(r.At)}
	setEnd(row, r.ExpiresAt)
	w := s.update(resultsKey(id), "SET "+assign(row, values), absent+" OR readAt < :at", values)
	return s.tryWrite(ctx, "store the results of campaign "+id.CampaignID, w)
}

// KeepOptOutCount adds the number of opt-outs of r to stored results. Newer results leave them as they are.
func (s *OutcomeStore) KeepOptOutCount(ctx context.Context, id campaign.ID, r insight.Results) error {
	values := Item{":n": number(r.OptOuts), ":until": millis(r.OptOutsUntil)}
	w := s.update(resultsKey(id), "SET optOuts = :n, optOutsUntil = :until", present, values)
	return s.tryWrite(ctx, "store the opt-outs of campaign "+id.CampaignID, w)
}

func resultFields(r *insight.Results) fields {
	return fields{
		"status": (*string)(&r.Status), "templateId": &r.TemplateID, "readAt": &r.At, "cancelledAt": &r.CancelledAt, "pausedAt": &r.PausedAt,
		"first": &r.First, "last": &r.Last, "next": &r.Next, "until": &r.Until, "endsAt": &r.EndsAt, "stalled": &r.Stalled,
		"tappable": &r.Tappable, "clickable": &r.Clickable, "cost": (*int64)(&r.Cost),
		"batches": &r.Batches, "moves": &r.Moves, "templates": &r.Templates, "accepted": &r.Accepted, "sent": &r.Sent,
		"delivered": &r.Delivered, "read": &r.Read, "lost": &r.Lost, "optedOut": &r.OptedOut, "tapped": &r.Tapped, "clicked": &r.Clicked,
		"waiting": &r.ToGo, "stopped": &r.Stopped, "notAccepted": &r.NotAccepted, "neverAccepted": &r.NeverAccepted,
		"tooLate": &r.ExpiredUnsent, "suppressed": &r.Suppressed, "unanswered": &r.Unanswered, "unpriced": &r.Unpriced, "neverGo": &r.NeverGo,
	}
}

func readResults(row Item) insight.Results {
	return fill(insight.Results{
		ExpiresAt: getEnd(row), OptOuts: getInt(row, "optOuts"), OptOutsUntil: getMillis(row, "optOutsUntil"),
	}, resultFields, row)
}
