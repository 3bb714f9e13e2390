package bill

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"campaign-dispatch/localstack/metering"
	"campaign-dispatch/localstack/template"
)

// Idle is what costs though nothing is sent.
type Idle struct {
	What    string  `json:"what"`
	Count   float64 `json:"count"`
	Dollars float64 `json:"dollars"` // a month of 30 days
	// Unpriced are what it uses beside whose price was not found.
	Unpriced []string `json:"unpriced,omitempty"`
}

// Resources are those of a template that cost by the month.
type Resources struct {
	Keys, AlarmMetrics, Dashboards int
	Queues                         int // that a function reads
	Sweeps                         int // schedules of functions, each of which runs every minute
}

// rotation is the condition of keys that exist in place of others, or beside them for
// hours.
const rotation = "KeyBExists"

// CountResources counts them in a template of CloudFormation. An alarm on an
// expression costs each metric that it looks at.
func CountResources(path string) (r Resources, err error) {
	text, err := template.Read(path)
	if err != nil {
		return r, err
	}
	var stack struct {
		Resources map[string]struct {
			Type       string `yaml:"Type"`
			Condition  string `yaml:"Condition"`
			Properties struct {
				Metrics []struct {
					MetricStat *yaml.Node `yaml:"MetricStat"`
				} `yaml:"Metrics"`
				Events map[string]struct {
					Type string `yaml:"Type"`
				} `yaml:"Events"`
			} `yaml:"Properties"`
		} `yaml:"Resources"`
	}
	if err := yaml.Unmarshal(text, &stack); err != nil {
		return r, fmt.Errorf("read the template: %w", err)
	}
	for _, resource := range stack.Resources {
		switch resource.Type {
		case "AWS::KMS::Key":
			if resource.Condition != rotation {
				r.Keys++
			}
		case "AWS::CloudWatch::Dashboard":
			r.Dashboards++
		case "AWS::CloudWatch::Alarm":
			looked := 0
			for _, m := range resource.Properties.Metrics {
				if m.MetricStat != nil {
					looked++
				}
			}
			r.AlarmMetrics += max(looked, 1)
		case "AWS::Serverless::Function":
			for _, e := range resource.Properties.Events {
				switch e.Type {
				case "SQS":
					r.Queues++
				case "Schedule":
					r.Sweeps++
				}
			}
		}
	}
	return r, nil
}

// Month is what the resources cost in 30 days with nothing sent, where sweep is what
// one call of that function costs.
func (r Resources) Month(p metering.Prices, sweep metering.Units) []Idle {
	const (
		minutes = 30 * 24 * 60
		pollers = 5 // of Lambda for a queue, each of which asks every 20 seconds
		asked   = 3 // times a minute
	)
	sweeps := float64(r.Sweeps * minutes)
	polls := float64(r.Queues * pollers * asked * minutes)
	idle := func(what string, count int, price float64) Idle {
		return Idle{What: fmt.Sprintf(what, count), Count: float64(count), Dollars: float64(count) * price}
	}
	return []Idle{
		idle("%d keys", r.Keys, p.KMSKeyMonths),
		idle("%d metrics of alarms", r.AlarmMetrics, p.AlarmMetricMonths),
		idle("%d dashboard", r.Dashboards, p.DashboardMonths),
		{fmt.Sprintf("runs of %d parts of sweep", r.Sweeps), sweeps, sweep.Times(sweeps).Dollars(p.Units), p.Unpriced(sweep)},
		{fmt.Sprintf("polls of %d queues", r.Queues), polls, metering.Units{SQSRequests: polls}.Dollars(p.Units), nil},
	}
}
