package bill

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"campaign-dispatch/localstack/lab/metering"
	"campaign-dispatch/localstack/template"
)

// Idle is a cost that occurs without messages.
type Idle struct {
	What    string  `json:"what"`
	Count   float64 `json:"count"`
	Dollars float64 `json:"dollars"` // for 30 days
	// Unpriced are the units without a known price. Dollars excludes them.
	Unpriced []string `json:"unpriced,omitempty"`
}

// Resources counts the resources of a template with a monthly cost.
type Resources struct {
	Keys, AlarmMetrics, Dashboards int
	Metrics                        int // of the service's own
	Queues                         int // queues with a function
	Sweeps                         int // schedules of functions, once a minute each
}

// rotation is the condition of keys that replace others, or exist for hours only.
const rotation = "KeyBExists"

// ownMetric is a metric of the service on the dashboard, which shows each of them.
var ownMetric = regexp.MustCompile(`"CampaignDispatch", ?"\w+", ?"FunctionName", ?"\$\{\w+\}"`)

// CountResources counts the resources of a template file. An alarm on an expression
// counts as the number of its metrics.
func CountResources(path string) (r Resources, err error) {
	var stack struct {
		Resources map[string]struct {
			Type       string `yaml:"Type"`
			Condition  string `yaml:"Condition"`
			Properties struct {
				Metrics []map[string]yaml.Node `yaml:"Metrics"`
				Events  map[string]struct {
					Type       string `yaml:"Type"`
					Properties struct {
						Schedule string `yaml:"Schedule"`
					} `yaml:"Properties"`
				} `yaml:"Events"`
			} `yaml:"Properties"`
		} `yaml:"Resources"`
	}
	text, err := template.Read(path)
	if err == nil {
		err = yaml.Unmarshal(text, &stack)
	}
	if err != nil {
		return r, err
	}
	own := ownMetric.FindAllString(string(text), -1)
	slices.Sort(own)
	r.Metrics = len(slices.Compact(own))
	for _, resource := range stack.Resources {
		switch resource.Type {
		case "AWS::KMS::Key":
			if resource.Condition != rotation {
				r.Keys++
			}
		case "AWS::CloudWatch::Dashboard":
			r.Dashboards++
		case "AWS::CloudWatch::Alarm":
			metrics := 0
			for _, m := range resource.Properties.Metrics {
				if stat, ok := m["MetricStat"]; ok {
					metrics++
					r.Metrics += ofTwoDimensions(stat)
				}
			}
			r.AlarmMetrics += max(metrics, 1)
		case "AWS::Serverless::Function":
			for _, e := range resource.Properties.Events {
				switch e.Type {
				case "SQS":
					r.Queues++
				case "Schedule":
					if e.Properties.Schedule == "rate(1 minute)" {
						r.Sweeps++
					}
				}
			}
		}
	}
	return r, nil
}

// ofTwoDimensions returns 1 for a metric of the service that is counted by net or by route. The dashboard shows none of these.
func ofTwoDimensions(node yaml.Node) int {
	var stat struct {
		Metric struct {
			Namespace  string      `yaml:"Namespace"`
			Dimensions []yaml.Node `yaml:"Dimensions"`
		} `yaml:"Metric"`
	}
	if err := node.Decode(&stat); err != nil || !strings.HasPrefix(stat.Metric.Namespace, "CampaignDispatch") || len(stat.Metric.Dimensions) != 2 {
		return 0
	}
	return 1
}

// Month returns the cost of the resources in 30 days without messages. sweep is the use
// of one call of the sweep function.
func (r Resources) Month(p metering.Prices, sweep metering.Units) []Idle {
	const (
		minutes = 30 * 24 * 60
		pollers = 5 // Lambda's pollers of a queue, with a long poll of 20 seconds each
		asked   = 3 // polls per minute
	)
	sweeps := float64(r.Sweeps * minutes)
	polls := float64(r.Queues * pollers * asked * minutes)
	idle := func(what string, count int, price float64) Idle {
		i := Idle{What: fmt.Sprintf(what, count), Count: float64(count), Dollars: float64(count) * price}
		if price == 0 && count > 0 {
			i.Unpriced = []string{i.What}
		}
		return i
	}
	return []Idle{
		idle("%d keys", r.Keys, p.KMSKeyMonths),
		idle("%d metrics of alarms", r.AlarmMetrics, p.AlarmMetricMonths),
		idle("%d dashboard", r.Dashboards, p.DashboardMonths),
		idle("%d metrics of the service, in each hour that has values", r.Metrics, p.MetricMonths),
		{fmt.Sprintf("runs of %d parts of sweep", r.Sweeps), sweeps, sweep.Times(sweeps).Dollars(p.Units), p.Unpriced(sweep)},
		{fmt.Sprintf("polls of %d queues", r.Queues), polls, metering.Units{SQSRequests: polls}.Dollars(p.Units), nil},
	}
}
