// Package alarms judges the template's alarms by what was measured, those too whose
// kind no emulator of CloudWatch knows.
package alarms

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"campaign-dispatch/localstack/template"
)

// Series is a metric with the values of its dimensions, joined by slashes.
type Series struct{ Namespace, Metric, Of string }

// Measured are the values of series, each that of an event or a moment.
type Measured map[Series][]float64

// Add adds what was measured.
func (m Measured) Add(s Series, values ...float64) { m[s] = append(m[s], values...) }

// Alarm tells when its value, which may be of several series, is at its threshold
// or over it.
type Alarm struct {
	Name      string
	Threshold float64

	expression string
	terms      map[string]term // by their names in the expression
}

// term is a statistic of a series.
type term struct {
	series    Series
	statistic string
}

// Value returns the alarm's value, and false where nothing of it was measured.
func (a Alarm) Value(seen Measured) (float64, bool) {
	values := map[string]float64{}
	for id, t := range a.terms {
		if v := seen[t.series]; len(v) > 0 {
			values[id] = statistics[t.statistic](v)
		}
	}
	if len(values) == 0 {
		return 0, false
	}
	return evaluate(a.expression, values), true
}

// Fires reports whether the alarm is set off, with its value.
func (a Alarm) Fires(seen Measured) (value float64, fires bool) {
	value, ok := a.Value(seen)
	return value, ok && value >= a.Threshold
}

// Series returns what the alarm is made of.
func (a Alarm) Series() (all []Series) {
	for _, id := range slices.Sorted(maps.Keys(a.terms)) {
		all = append(all, a.terms[id].series)
	}
	return all
}

var statistics = map[string]func([]float64) float64{
	"Maximum": slices.Max[[]float64],
	"Sum": func(values []float64) (sum float64) {
		for _, v := range values {
			sum += v
		}
		return sum
	},
}

// Names are the physical names of a stack's resources, by their logical ones.
type Names map[string]string

// properties are an alarm's in the template.
type properties struct {
	Namespace, MetricName yaml.Node
	Dimensions            []dimension
	Statistic             string
	ComparisonOperator    string
	Threshold             yaml.Node
	Metrics               []struct {
		ID, Expression string
		MetricStat     struct {
			Metric metric
			Stat   string
		}
	}
}

type metric struct {
	Namespace, MetricName string
	Dimensions            []dimension
}

type dimension struct{ Name, Value yaml.Node }

// UnmarshalYAML takes the names of members as CloudFormation writes them.
func (p *properties) UnmarshalYAML(node *yaml.Node) error {
	lower(node)
	type plain properties
	return node.Decode((*plain)(p))
}

// lower writes the names of members in small letters, as yaml takes them for the
// fields of structs.
func lower(node *yaml.Node) {
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 0 {
			child.Value = strings.ToLower(child.Value)
			continue
		}
		lower(child)
	}
}

// Read returns the alarms of a template, by their names, as they are in an
// environment with those resources.
func Read(source []byte, environment string, names Names) ([]Alarm, error) {
	var document struct {
		Mappings  map[string]map[string]map[string]string `yaml:"Mappings"`
		Resources map[string]struct {
			Type       string    `yaml:"Type"`
			Properties yaml.Node `yaml:"Properties"`
		} `yaml:"Resources"`
	}
	expanded, err := template.Expand(source)
	if err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal(expanded, &document); err != nil {
		return nil, fmt.Errorf("read the template: %w", err)
	}
	var resolve func(node yaml.Node) string
	resolve = func(node yaml.Node) string {
		switch node.Tag {
		case "!If": // what stands in for something else is not there
			return resolve(*node.Content[2])
		case "!Ref":
			return names[node.Value]
		case "!GetAtt": // a queue's name is the end of its address
			name, _, _ := strings.Cut(node.Value, ".")
			return names[name][strings.LastIndex(names[name], "/")+1:]
		case "!FindInMap":
			return document.Mappings[node.Content[0].Value][environment][node.Content[2].Value]
		}
		return node.Value
	}
	var all []Alarm
	for name, r := range document.Resources {
		if r.Type != "AWS::CloudWatch::Alarm" {
			continue
		}
		var p properties
		if err := r.Properties.Decode(&p); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		a, err := p.alarm(name, resolve)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b Alarm) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

func (p properties) alarm(name string, resolve func(yaml.Node) string) (Alarm, error) {
	threshold, err := strconv.ParseFloat(resolve(p.Threshold), 64)
	if err != nil {
		return Alarm{}, fmt.Errorf("its threshold: %w", err)
	}
	if p.ComparisonOperator != "GreaterThanOrEqualToThreshold" {
		return Alarm{}, fmt.Errorf("it compares by %s", p.ComparisonOperator)
	}
	a := Alarm{Name: name, Threshold: threshold, expression: "value", terms: map[string]term{}}
	add := func(id, statistic string, m metric) {
		var of []string
		for _, d := range m.Dimensions {
			of = append(of, resolve(d.Value))
		}
		a.terms[id] = term{Series{m.Namespace, m.MetricName, strings.Join(of, "/")}, statistic}
	}
	for _, m := range p.Metrics {
		if m.Expression != "" {
			a.expression = m.Expression
			continue
		}
		add(m.ID, m.MetricStat.Stat, m.MetricStat.Metric)
	}
	if len(p.Metrics) == 0 {
		add("value", p.Statistic, metric{p.Namespace.Value, p.MetricName.Value, p.Dimensions})
	}
	for id, t := range a.terms {
		if t.series.Of == "" || statistics[t.statistic] == nil {
			return a, fmt.Errorf("%s is %s of %v", id, t.statistic, t.series)
		}
	}
	return a, a.check()
}
