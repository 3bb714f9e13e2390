package campaigns

import (
	"context"
	"strconv"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/recent"
	"campaign-dispatch/internal/insight"
)

// comparedPage is a campaign beside what is usual.
type comparedPage struct {
	campaign.Campaign
	Of      int // campaigns that it is compared with
	Young   bool
	Metrics []metric
}

// Few reports whether there are too few campaigns to know what is usual.
func (c comparedPage) Few() bool { return c.Of < insight.LeastCompared }

// metric is a metric of the campaign.
type metric struct {
	insight.Comparison

	rate insight.Rate // zero for the cost
	all  int          // campaigns that are compared
}

func (s *Pages) compared(p *web.Page, c campaign.Campaign) error {
	v, sum := comparedPage{Campaign: c}, insight.ResultsOf(c, s.Now())
	if sum.Sent > 0 {
		if err := s.compare(p.R.Context(), &v, sum); err != nil {
			return err
		}
	}
	return p.RenderOr("campaigns_compared_table.html", "campaigns.compared", "campaigns_compared.html", v)
}

func (s *Pages) compare(ctx context.Context, c *comparedPage, sum insight.Results) error {
	others, err := recent.Before(ctx, s.Store, c.ID, sum.First)
	if err != nil {
		return err
	}
	all := append([]recent.Sent{{ID: c.ID, Results: sum}}, others...)
	if sum.Settled() {
		if err := s.addStoredOptOuts(ctx, &all[0]); err != nil {
			return err
		}
	}
	if err := s.addOptOutsOf(ctx, c.Tenant, all); err != nil {
		return err
	}
	results := make([]insight.Results, len(all))
	for i, of := range all {
		results[i] = of.Results
	}
	c.add(results[0], results[1:])
	return nil
}

func (c *comparedPage) add(sum insight.Results, others []insight.Results) {
	c.Of, c.Young = len(others), !sum.Settled()
	for _, of := range insight.Compare(sum, others) {
		m := metric{Comparison: of, all: len(others)}
		if of.Metric != insight.MetricCost {
			m.rate = sum.Rate(of.Step())
		}
		c.Metrics = append(c.Metrics, m)
	}
}

// Fewer reports whether not all campaigns have the metric.
func (m metric) Fewer() bool { return m.Of < m.all }

// Key returns the key of the metric's texts, and the color of its bar.
func (m metric) Key() string { return string(m.Metric) }

const million = 1_000_000 // values are in millionths

// This returns the campaign's value as it is shown elsewhere.
func (m metric) This(p *web.Page) string {
	if m.Metric == insight.MetricCost {
		return p.Money(campaign.Money(m.Value))
	}
	return p.Percent(m.rate.N, m.rate.Of)
}

// Median returns the usual value.
func (m metric) Median(p *web.Page) string {
	if m.Metric == insight.MetricCost {
		return p.Money(campaign.Money(m.Usual))
	}
	return p.Percent(m.Usual, million)
}

// change returns how much the campaign's value is above the usual one, as both are shown: a cost of whole cents, or a rate
// in tenths of a percentage point.
func (m metric) change() int {
	if m.Metric == insight.MetricCost {
		return int(campaign.Money(m.Value).Cents() - campaign.Money(m.Usual).Cents())
	}
	return web.TenthsOf(m.rate.N, m.rate.Of) - web.TenthsOf(m.Usual, million)
}

// Difference returns how much the value differs from the usual one, in words.
func (m metric) Difference(p *web.Page) string {
	n, key := m.change(), "campaigns.compared.above"
	switch {
	case n == 0:
		return p.T("campaigns.compared.same")
	case n < 0:
		n, key = -n, "campaigns.compared.below"
	}
	if m.Metric == insight.MetricCost {
		return p.T(key, p.Money(campaign.Money(n)))
	}
	const two = 20 // less is singular in Portuguese
	if n < two {
		key += "_point"
	} else {
		key += "_points"
	}
	return p.T(key, p.Tenths(n))
}

// Class returns "better" or "worse", or "" if the value is as usual.
func (m metric) Class() string {
	n := m.change()
	if m.LessIsBetter() {
		n = -n
	}
	switch {
	case n > 0:
		return "better"
	case n < 0:
		return "worse"
	}
	return ""
}

// Bar returns the width of the bar of one of the two values. The larger one has the whole width.
func (m metric) Bar(value int) string {
	return strconv.Itoa(100*value/max(m.Value, m.Usual, 1)) + "%"
}
