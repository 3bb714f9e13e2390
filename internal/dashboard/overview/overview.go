// Package overview shows the results of a tenant's last days, the next campaigns, and what
// needs attention.
package overview

import (
	"context"
	"embed"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/chart"
	"campaign-dispatch/internal/dashboard/web/recent"
	"campaign-dispatch/internal/insight"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/webhook/delivery"
)

// Store reads counts, campaigns, and what can need attention.
type Store interface {
	// Days returns the days with counts between two dates, both included, in order.
	Days(ctx context.Context, tenant, from, to string) ([]campaign.Day, error)
	// RecentCampaigns returns campaigns that go before a time, those that go last first.
	RecentCampaigns(ctx context.Context, tenant string, before time.Time, limit int32) ([]campaign.Listed, error)
	// NextCampaigns returns campaigns that go from a time on, those that go first first.
	NextCampaigns(ctx context.Context, tenant string, from time.Time, limit int32) ([]campaign.Listed, error)
	// WaitingCampaigns returns campaigns with batches that are paused or closed.
	WaitingCampaigns(ctx context.Context, tenant string, limit int) ([]campaign.ID, error)
	// StandingsAndResults returns the summaries and the stored results of at most 33 campaigns.
	StandingsAndResults(ctx context.Context, tenant string, ids []string) (map[string]campaign.Summary, map[string]insight.Results, error)
	web.CampaignStore
	// Attention returns what can need attention on a date, and the endpoints.
	Attention(ctx context.Context, tenant, date string) (account.Attention, []delivery.WatchedEndpoint, error)
	// Submissions returns the submissions of a tenant. The error wraps campaign.ErrDamaged if one cannot be read.
	Submissions(ctx context.Context, tenant string) ([]submission.Submission, error)
	// CountDoubts returns the number of replies that may be opt-outs and wait for a decision, up to limit.
	CountDoubts(ctx context.Context, tenant string, limit int) (int, error)
}

// Pages are the page of the overview.
type Pages struct {
	Store Store
	Reads *recent.Reads
	Now   func() time.Time
}

//go:embed *.html texts.json
var files embed.FS

// Area returns the page and texts of the overview.
func Area() web.Area { return web.Area{Files: files, Texts: []string{"overview"}} }

// Path is the path of the overview.
const Path = web.Root + "/overview"

// Register serves the page.
func (s *Pages) Register(ui *web.UI, mux *http.ServeMux) {
	ui.Get(mux, Path, web.RoleViewer, s.show)
	ui.Get(mux, readsPath, web.RoleViewer, s.reads)
}

type view struct {
	Length  int // days of the shown period
	Lengths []int
	Figures []figure
	Chart   chart.Chart
	Next    []scheduled
	Alerts  []alert
	Steps   []web.Step
}

// lengths are the periods that can be shown, in days.
var lengths = []int{7, 30}

func (s *Pages) show(p *web.Page) error {
	v := view{Length: lengths[0], Lengths: lengths}
	if p.Query("days") == "30" {
		v.Length = lengths[1]
	}
	group, ctx := errgroup.WithContext(p.R.Context())
	tenant := p.Session.Tenant
	var stored []campaign.Day
	var listed found
	var attention account.Attention
	var watched []delivery.WatchedEndpoint
	group.Go(func() (err error) { stored, err = s.days(ctx, tenant, v.Length); return err })
	group.Go(func() (err error) { listed, err = s.find(ctx, p.Session); return err })
	group.Go(func() (err error) {
		attention, watched, err = s.Store.Attention(ctx, tenant, localtime.Day(s.Now()))
		return err
	})
	var doubts int
	group.Go(func() (err error) { doubts, err = s.Store.CountDoubts(ctx, tenant, maxDoubts); return err })
	if err := group.Wait(); err != nil {
		return err
	}
	p.UseBrand(attention.Brand)
	s.addDays(p, stored, &v)
	v.Next, v.Alerts = listed.next, append(alerts(attention, watched, listed.approvals, doubts), listed.stalled...)
	if listed.campaigns == 0 {
		var err error
		if v.Steps, err = web.Steps(p.R.Context(), s.Store, tenant, listed.tested); err != nil {
			return err
		}
	}
	return p.Render("ui.overview", "overview.html", v)
}

// date returns the date of some days ago.
func (s *Pages) date(ago int) string { return localtime.Day(s.Now().AddDate(0, 0, -ago)) }

// days returns the days with counts of a period and of the one before.
func (s *Pages) days(ctx context.Context, tenant string, length int) ([]campaign.Day, error) {
	return s.Store.Days(ctx, tenant, s.date(2*length-1), s.date(0))
}

func (s *Pages) addDays(p *web.Page, stored []campaign.Day, v *view) {
	byDate := map[string]campaign.DayCounts{}
	for _, d := range stored {
		byDate[d.Date] = d.DayCounts
	}
	var total, before campaign.DayCounts
	days := make([]campaign.Day, v.Length)
	for ago := range v.Length {
		d := campaign.Day{Date: s.date(ago), DayCounts: byDate[s.date(ago)]}
		days[v.Length-1-ago] = d
		total, before = total.Plus(d.DayCounts), before.Plus(byDate[s.date(ago+v.Length)])
	}
	v.Figures, v.Chart = figures(total, before), newChart(p, days)
}
