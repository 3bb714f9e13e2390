package overview

import (
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/chart"
	"campaign-dispatch/internal/insight"
)

func newChart(p *web.Page, days []campaign.Day) chart.Chart {
	c := chart.Chart{Title: p.T("overview.trend"), Time: p.T("overview.day"), Bars: true}
	for _, key := range []string{"sent", "delivered", "read", "lost", "not_sent", "opted_out"} {
		s := chart.Series{Key: key, Name: p.T("overview." + key), TableOnly: key == "not_sent" || key == "opted_out"}
		if key == "lost" {
			s.On = "delivered"
		}
		c.Series = append(c.Series, s)
	}
	for i, d := range days {
		c.Points = append(c.Points, chart.Point{
			X: (float64(i) + 0.5) / float64(len(days)), Label: label(p, d.Date), ISO: d.Date,
			Counts: []int{d.Sent, d.Delivered, d.Read, d.Failed, d.NotSent, d.OptedOut},
		})
	}
	c.Says = p.T("overview.trend_says", label(p, days[0].Date), label(p, days[len(days)-1].Date))
	return c
}

// label shows a date without its year.
func label(p *web.Page, date string) string {
	at, _ := time.ParseInLocation(time.DateOnly, date, localtime.SaoPaulo()) // a date of package localtime
	return p.Day(at)
}

// figure is a number of the period with the one of the period before.
type figure struct {
	Key       string
	N, Before int
	Rate      insight.Rate // zero for none
}

// Change returns how much N is above the period before. It is for Page.Percent.
func (f figure) Change() int { return f.N - f.Before }

// Down reports whether N is below the period before.
func (f figure) Down() bool { return f.N < f.Before }

// Less returns how much N is below the period before.
func (f figure) Less() int { return f.Before - f.N }

func figures(n, before campaign.DayCounts) []figure {
	return []figure{
		{"sent", n.Sent, before.Sent, insight.Rate{}},
		{"delivered", n.Delivered, before.Delivered, insight.RateOfDay(n, insight.StepDelivered)},
		{"read", n.Read, before.Read, insight.RateOfDay(n, insight.StepRead)},
		{"lost", n.Failed, before.Failed, insight.Rate{}},
		{"not_sent", n.NotSent, before.NotSent, insight.Rate{}},
		{"opted_out", n.OptedOut, before.OptedOut, insight.Rate{}},
	}
}
