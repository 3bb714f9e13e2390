package bench

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/insight"
	"campaign-dispatch/internal/outcome"
	"campaign-dispatch/internal/webhook/delivery"
	"campaign-dispatch/localstack/stackenv"
)

// A tenant sends a year of campaigns: most have ended, some are being sent, and some wait.
const (
	manyCampaigns  = 5_000
	waitingOfMany  = 20
	sendingOfMany  = 4
	recordedOfMany = 200 // with outcomes; of the others, only the results are read
	betweenMany    = 100 * time.Minute
	seededAtOnce   = 16
	messagesOfMany = 100
)

// manySample is small, because the emulator reads all rows of an index for each query.
var manySample = sample{3, 13, 3}

// BenchmarkOverview measures the overview, the list and a campaign of a tenant with 5,000 campaigns.
func BenchmarkOverview(b *testing.B) {
	env := maps.Clone(stackenv.Load(b))
	env["TENANT"] = "many-" + strings.ToLower(rand.Text())
	many := newManyCampaigns(env, time.Now())
	check(b, many.write(b.Context()))
	r := newBrowser(b, env)
	for _, p := range many.pages() {
		spent, bytes, err := r.measure(b.Context(), p, manySample)
		if err != nil {
			b.Fatalf("open %s: %v", p.path, err)
		}
		record(b, compared("5,000 campaigns: "+p.name, spent, pageLimit, fmt.Sprintf("as the pages; %d bytes", bytes)))
	}
}

// manyOf writes the campaigns of a tenant.
type manyOf struct {
	store  *dynamotest.Store
	tenant string
	now    time.Time
	ended  string // ID of the last campaign that has ended
}

func newManyCampaigns(env stackenv.Env, now time.Time) manyOf {
	tables := dynamo.FromEnv(dynamodb.NewFromConfig(env.AWS()), env.Get, time.Now)
	return manyOf{dynamotest.New(tables), env["TENANT"], now, random.UUID()}
}

// pages returns the pages of the tenant, and the parts that the overview and a campaign's page load.
func (m manyOf) pages() []page {
	const list = web.Root + "/campaigns"
	ended := web.CampaignPath(m.ended)
	day := func(ago int) string { return localtime.Day(time.Now().AddDate(0, 0, -ago)) }
	pages := []page{
		{path: web.Root + "/overview"},
		{path: web.Root + "/overview?days=30"},
		{path: list},
		{path: list + "?status=completed"},
		{path: list + "?status=scheduled"},
		{path: list + "?status=sending"},
		{path: list + "?status=cancelled"},
		{path: list + "?q=campanha"},
		{path: ended},
		{path: ended + "/compared", update: true},
		{path: web.Root + "/overview/reads", update: true},
		{path: list + "?from=" + day(200) + "&to=" + day(190)},
	}
	for i, p := range pages {
		pages[i].name = strings.ReplaceAll(p.path, m.ended, "{campaignId}")
	}
	return pages
}

func (m manyOf) write(ctx context.Context) error {
	if err := m.writeTenant(ctx); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(seededAtOnce)
	for i := range manyCampaigns {
		group.Go(func() error { return m.writeCampaign(ctx, i) })
	}
	return group.Wait()
}

// writeTenant writes the tenant with an endpoint, a budget and the days of a year.
func (m manyOf) writeTenant(ctx context.Context) error {
	agent := campaign.Agent{ID: "agent-" + m.tenant}
	if err := m.store.SaveAgent(ctx, agent); err != nil {
		return err
	}
	if err := m.store.SaveTenant(ctx, campaign.Tenant{ID: m.tenant, Name: "Loja", AgentID: agent.ID}, nil); err != nil {
		return err
	}
	if err := m.store.SaveEndpoint(ctx, delivery.Endpoint{ID: random.UUID(), Tenant: m.tenant, URL: "https://loja.example/hook"}); err != nil {
		return err
	}
	billing := campaign.Billing{Prices: campaign.Prices{Basic: 50_000, Single: 100_000}, Limits: campaign.Spending{Day: 1e9, Month: 1e10}}
	if err := m.store.SaveBilling(ctx, m.tenant, campaign.Billing{}, billing); err != nil {
		return err
	}
	for ago := range 365 {
		counts := campaign.DayCounts{Sent: 14_000, Delivered: 13_000, Read: 7_000, Failed: 900, OptedOut: 20}
		if err := m.store.AddDay(ctx, m.tenant, localtime.Day(m.now.AddDate(0, 0, -ago)), counts); err != nil {
			return err
		}
	}
	return nil
}

// writeCampaign writes the campaign that goes i-th, from the last one on.
func (m manyOf) writeCampaign(ctx context.Context, i int) error {
	b := m.batch(i)
	name := fmt.Sprintf("Campanha %d", i)
	if err := m.store.Accept(ctx, acceptance.Command{Batch: b, Campaign: name, Ordinal: 1, Packed: []byte{0}}, rand.Text()); err != nil {
		return err
	}
	if i < waitingOfMany+sendingOfMany {
		return nil
	}
	if i < recordedOfMany {
		if err := m.record(ctx, b); err != nil {
			return err
		}
	}
	if _, err := m.store.CompleteBatch(ctx, b, 0, b.NextCheck); err != nil {
		return err
	}
	return m.store.KeepResults(ctx, b.ID, insight.Results{
		At: m.now, Status: campaign.StatusCompleted, Batches: 1, First: b.Due, Last: b.Due, Templates: 1, ExpiresAt: b.ExpiresAt(),
		Accepted: b.Accepted, Sent: b.Accepted, Delivered: b.Accepted, Read: b.Accepted,
	})
}

// record records that all messages of a batch were read.
func (m manyOf) record(ctx context.Context, b campaign.Batch) error {
	changes := make([]campaign.Change, b.Accepted)
	for i := range changes {
		changes[i] = campaign.Change{Index: i, Outcome: campaign.OutcomeRead, At: m.now}
	}
	_, err := outcome.AppendLedger(ctx, m.store, b, changes)
	return err
}

func (m manyOf) batch(i int) campaign.Batch {
	at := m.now.Add(time.Duration(waitingOfMany-i)*betweenMany - time.Minute)
	b := campaign.Batch{
		BatchRef: campaign.BatchRef{ID: campaign.ID{Tenant: m.tenant, CampaignID: random.UUID()}, BatchID: campaign.BatchID("1")},
		Ordinal:  1, Accepted: messagesOfMany, AcceptedAt: at, Due: at, State: campaign.BatchSending, NextCheck: m.now.AddDate(1, 0, 0),
	}
	if i == waitingOfMany+sendingOfMany {
		b.CampaignID = m.ended
	}
	if i < waitingOfMany {
		b.State, b.Scheduled, b.AcceptedAt = campaign.BatchPending, true, m.now
	}
	_, _ = rand.Read(b.Key[:])
	return b
}
