package insight

import (
	"slices"
	"time"

	"campaign-dispatch/internal/campaign"
)

const (
	// MostCompared is the number of earlier campaigns with which one is compared.
	MostCompared = 10
	// LeastCompared is the number of campaigns from which on it is known what is usual.
	LeastCompared = 3
	// LeastSent is the number of sent messages from which on a campaign is compared. Of fewer, one person
	// changes a rate by more than 5 points.
	LeastSent = 20
	// SettledAfter is the time after which most messages are read that will be.
	SettledAfter = day
)

// Metric is a value by which campaigns are compared: the rate of a step, or MetricCost. Its values are in millionths.
type Metric string

const (
	// MetricOptOuts is the rate of recipients who opted out until the results were settled.
	MetricOptOuts = Metric(StepOptOuts)
	// MetricCost is what a read message costs.
	MetricCost Metric = "cost"
)

var metrics = [...]Metric{Metric(StepDelivered), Metric(StepRead), Metric(StepTapped), Metric(StepClicked), MetricOptOuts, MetricCost}

// LessIsBetter reports whether a lower value is better.
func (m Metric) LessIsBetter() bool { return m == MetricCost || m == MetricOptOuts }

// Step returns the step of a rate.
func (m Metric) Step() Step { return Step(m) }

// millionths are those of one.
const millionths = 1_000_000

// Metric returns the value of a metric, and false if the campaign has none.
func (r Results) Metric(m Metric) (value int, known bool) {
	if m == MetricCost {
		cost := r.CostPer(StepRead)
		return int(cost), cost > 0
	}
	rate := r.Rate(m.Step())
	if rate.Of == 0 || !r.counts(m.Step()) {
		return 0, false
	}
	return millionths * rate.N / rate.Of, true
}

// counts reports whether the messages of a step are counted.
func (r Results) counts(s Step) bool {
	switch s {
	case StepTapped:
		return r.Tappable
	case StepClicked:
		return r.Clickable
	case StepOptOuts:
		return r.OptOutsKnown()
	case StepPeople, StepAccepted, StepSent, StepDelivered, StepRead:
	}
	return true
}

// CostPer returns what each message of a step costs, and 0 if that is unknown: some delivered messages had no price, or
// there is none of the step.
func (r Results) CostPer(s Step) campaign.Money {
	n := r.Rate(s).N
	if n == 0 || r.Unpriced > 0 {
		return 0
	}
	return r.Cost.Per(n)
}

// Settled reports whether most messages were read that will be.
func (r Results) Settled() bool { return r.At.Sub(r.Last) >= SettledAfter }

// optOutsEnd returns the time until which opt-outs are counted. It is the same number of hours for all settled
// campaigns: later, more and more recipients opt out because of other campaigns.
func (r Results) optOutsEnd() time.Time {
	if settled := r.Last.Add(SettledAfter); r.At.After(settled) {
		return settled
	}
	return r.At
}

// CountOptOuts counts the opt-outs of the campaign's recipients since it was sent.
func (r *Results) CountOptOuts(since []campaign.OptChange) {
	r.OptOuts, r.OptOutsUntil = 0, r.optOutsEnd()
	for _, c := range since {
		if !c.At.After(r.OptOutsUntil) {
			r.OptOuts++
		}
	}
}

// OptOutsKnown reports whether the opt-outs are counted. They are not any more if later messages were added.
func (r Results) OptOutsKnown() bool {
	return !r.OptOutsUntil.IsZero() && !r.OptOutsUntil.Before(r.optOutsEnd())
}

// Comparable reports whether other campaigns are compared with the results.
func (r Results) Comparable() bool { return r.Sent >= LeastSent && r.Settled() }

// Comparison is a metric of a campaign, and what is usual. Values are in millionths.
type Comparison struct {
	Metric
	Value int
	Usual int // the median of the other campaigns
	Of    int // other campaigns with the metric
}

// Known reports whether enough campaigns have the metric to know what is usual.
func (c Comparison) Known() bool { return c.Of >= LeastCompared }

// Compare compares the metrics that a campaign has with other campaigns.
func Compare(r Results, others []Results) (all []Comparison) {
	for _, m := range metrics {
		value, known := r.Metric(m)
		if !known {
			continue
		}
		var values []int
		for _, o := range others {
			if v, known := o.Metric(m); known {
				values = append(values, v)
			}
		}
		all = append(all, Comparison{m, value, Median(values), len(values)})
	}
	return all
}

// Median returns the middle one of values, the mean of the two middle ones if their number is even, and 0 if there is
// none.
func Median(values []int) int {
	sorted, middle := slices.Sorted(slices.Values(values)), len(values)/2
	switch {
	case len(sorted) == 0:
		return 0
	case len(sorted)%2 == 1:
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
