package campaign

import "slices"

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

// MetricCost is what a read message costs.
const MetricCost Metric = "cost"

var metrics = [...]Metric{Metric(StepDelivered), Metric(StepRead), Metric(StepTapped), Metric(StepClicked), MetricCost}

// Step returns the step of a rate.
func (m Metric) Step() Step { return Step(m) }

// Metric returns the value of a metric, and false if the campaign has none.
func (r Results) Metric(m Metric) (value int, known bool) {
	if m == MetricCost {
		cost := r.CostPer(StepRead)
		return int(cost), cost > 0
	}
	rate := r.Rate(m.Step())
	if rate.Of == 0 || m.Step() == StepTapped && !r.Tappable || m.Step() == StepClicked && !r.Clickable {
		return 0, false
	}
	return unitOfMoney * rate.N / rate.Of, true
}

// CostPer returns what each message of a step costs, and 0 if that is unknown: some delivered messages had no price, or
// there is none of the step.
func (r Results) CostPer(s Step) Money {
	n := r.Rate(s).N
	if n == 0 || r.Unpriced > 0 {
		return 0
	}
	return r.Cost.Per(n)
}

// Settled reports whether most messages were read that will be.
func (r Results) Settled() bool { return r.At.Sub(r.Last) >= SettledAfter }

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
