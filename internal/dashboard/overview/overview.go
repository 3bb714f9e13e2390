// Package overview shows the results of a tenant's last days, the next campaigns, and what
// needs attention.
package overview

import (
	"context"
	"embed"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/start"
)

// Store reads counts, campaigns, and what can need attention.
type Store interface {
	// Days returns the days with counts between two dates, in order.
	Days(ctx context.Context, tenant, from, to string) ([]campaign.Day, error)
	// RecentCampaigns returns campaigns that go before a time, those that go last first.
	RecentCampaigns(ctx context.Context, tenant string, before time.Time, limit int32) ([]campaign.Listed, error)
	// NextCampaigns returns campaigns that go from a time on, those that go first first.
	NextCampaigns(ctx context.Context, tenant string, from time.Time, limit int32) ([]campaign.Listed, error)
	// Standings returns the summaries of at most 50 campaigns.
	Standings(ctx context.Context, tenant string, campaignIDs []string) (map[string]campaign.Summary, error)
	// Dispatched returns a campaign without its outcomes.
	Dispatched(ctx context.Context, id campaign.ID) (campaign.Campaign, error)
	Templates(ctx context.Context, tenant string) ([]campaign.Template, error)
	Endpoints(ctx context.Context, tenant string) ([]campaign.Endpoint, error)
	Circuit(ctx context.Context, tenant, endpointID string) (campaign.Circuit, error)
	Tenant(ctx context.Context, id string) (campaign.Tenant, error)
	Channel(ctx context.Context, tenant, agentID string) (campaign.Channel, error)
	Billing(ctx context.Context, tenant string) (campaign.Billing, error)
	Spending(ctx context.Context, tenant, date string) (campaign.Spending, error)
	Approvals(ctx context.Context, tenant string) ([]campaign.Approval, error)
}

// Pages are the page of the overview.
type Pages struct {
	Store       Store
	Credentials start.Credentials
	Now         func() time.Time
}

//go:embed *.html texts.json
var files embed.FS

// Area returns the page and texts of the overview.
func Area() web.Area { return web.Area{Files: files} }

// Path is the path of the overview.
const Path = web.Root + "/overview"

// Register serves the page.
func (s *Pages) Register(ui *web.UI, mux *http.ServeMux) {
	ui.View(mux, Path, s.show)
}

// view is the data of the page.
type view struct {
	Length  int // days of the shown period
	Lengths []int
	Figures []figure
	Chart   chart
	AsTable bool
	Next    []scheduled
	Alerts  []alert
	Steps   []start.Step
}

// lengths are the periods that can be shown, in days.
var lengths = []int{7, 30}

func (s *Pages) show(p *web.Page) error {
	v := view{Length: lengths[0], Lengths: lengths, AsTable: p.Query("chart") == "table"}
	if p.Query("days") == "30" {
		v.Length = lengths[1]
	}
	group, ctx := errgroup.WithContext(p.R.Context())
	tenant := p.Session.Tenant
	var listed found
	var attention attention
	group.Go(func() error { return s.addDays(ctx, tenant, &v) })
	group.Go(func() (err error) { listed, err = s.find(ctx, tenant); return err })
	group.Go(func() (err error) { attention, err = s.attention(ctx, p.Session); return err })
	if err := group.Wait(); err != nil {
		return err
	}
	v.Next, v.Alerts = listed.next, append(attention.alerts(), listed.stalled...)
	if listed.campaigns == 0 {
		var err error
		if v.Steps, err = start.Steps(p.R.Context(), s.Store, s.Credentials, tenant, listed.tested); err != nil {
			return err
		}
	}
	return p.Render("ui.overview", "overview.html", v)
}

// addDays adds the figures and the chart of the period, with one query.
func (s *Pages) addDays(ctx context.Context, tenant string, v *view) error {
	now := s.Now()
	date := func(ago int) string { return localtime.Day(now.AddDate(0, 0, -ago)) }
	stored, err := s.Store.Days(ctx, tenant, date(2*v.Length-1), date(0))
	if err != nil {
		return err
	}
	byDate := map[string]campaign.DayCounts{}
	for _, d := range stored {
		byDate[d.Date] = d.DayCounts
	}
	var total, before campaign.DayCounts
	days := make([]campaign.Day, v.Length)
	for ago := range v.Length {
		d := campaign.Day{Date: date(ago), DayCounts: byDate[date(ago)]}
		days[v.Length-1-ago] = d
		total, before = total.Plus(d.DayCounts), before.Plus(byDate[date(ago+v.Length)])
	}
	v.Figures, v.Chart = figures(total, before), newChart(days)
	return nil
}
