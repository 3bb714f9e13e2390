package prove

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"campaign-dispatch/localstack/template"
)

// wholeAccount is what a series without dimensions is of.
const wholeAccount = "account"

// series is a metric with the values of its dimensions, joined by slashes.
type series struct{ Namespace, Metric, Of string }

// measured are the values of series, each that of an event or a moment.
type measured map[series][]float64

// add adds what was measured.
func (m measured) add(s series, values ...float64) { m[s] = append(m[s], values...) }

// alarm fires when its value, which may be of several series, is on the wrong side of its threshold.
type alarm struct {
	Name      string
	Threshold float64
	// OfSilence is whether it fires where nothing is measured.
	OfSilence bool

	breaches   func(value, threshold float64) bool
	expression string
	terms      map[string]term // by their names in the expression
}

// term is a statistic of a series.
type term struct {
	series    series
	statistic string
}

// value returns the alarm's value, and false where nothing of it was measured.
func (a alarm) value(seen measured) (float64, bool) {
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

// fires reports whether the alarm fires, with its value.
func (a alarm) fires(seen measured) (value float64, firing bool) {
	value, ok := a.value(seen)
	if !ok || math.IsNaN(value) {
		return value, a.OfSilence
	}
	return value, a.breaches(value, a.Threshold)
}

// comparisons are the operators of alarms.
var comparisons = map[string]func(value, threshold float64) bool{
	"GreaterThanOrEqualToThreshold": func(value, threshold float64) bool { return value >= threshold },
	"GreaterThanThreshold":          func(value, threshold float64) bool { return value > threshold },
	"LessThanThreshold":             func(value, threshold float64) bool { return value < threshold },
}

// all returns the series of the alarm.
func (a alarm) all() (all []series) {
	for _, id := range slices.Sorted(maps.Keys(a.terms)) {
		all = append(all, a.terms[id].series)
	}
	return all
}

var statistics = map[string]func([]float64) float64{
	"Maximum": slices.Max[[]float64],
	"p99":     slices.Max[[]float64], // of fewer than a hundred values
	"Sum": func(values []float64) (sum float64) {
		for _, v := range values {
			sum += v
		}
		return sum
	},
}

// resourceNames are the physical names of a stack's resources, by their logical ones.
type resourceNames map[string]string

// properties are an alarm's in the template.
type properties struct {
	Namespace, MetricName yaml.Node
	Dimensions            []dimension
	Statistic             string
	ExtendedStatistic     string
	ComparisonOperator    string
	TreatMissingData      string
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

// UnmarshalYAML accepts the names of members as CloudFormation writes them.
func (p *properties) UnmarshalYAML(node *yaml.Node) error {
	lower(node)
	type plain properties
	return node.Decode((*plain)(p))
}

// lower converts the names of members to lower case, the default of yaml for struct fields.
func lower(node *yaml.Node) {
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 0 {
			child.Value = strings.ToLower(child.Value)
			continue
		}
		lower(child)
	}
}

// readAlarms returns the alarms of a template, by their names, as they are in an
// environment with those resources.
func readAlarms(source []byte, environment string, names resourceNames) ([]alarm, error) {
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
		case "!If": // no resource is replaced
			return resolve(*node.Content[2])
		case "!Ref":
			return names[node.Value]
		case "!GetAtt": // a queue's name is the end of its address
			name, _, _ := strings.Cut(node.Value, ".")
			return names[name][strings.LastIndex(names[name], "/")+1:]
		case "!FindInMap":
			key := environment
			if node.Content[1].Value == "Load" && environment == "production" {
				key = "1m" // as in samconfig.toml
			}
			return document.Mappings[node.Content[0].Value][key][node.Content[2].Value]
		}
		return node.Value
	}
	var found []alarm
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
		found = append(found, a)
	}
	slices.SortFunc(found, func(a, b alarm) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
}

// ofEach matches a query of Metrics Insights that judges each value of a dimension by itself.
var ofEach = regexp.MustCompile(`^SELECT SUM\((\w+)\) FROM SCHEMA\("(\w+)", (\w+), Stack\) WHERE Stack = '\$\{AWS::StackName\}' GROUP BY (\w+) `)

func (p properties) alarm(name string, resolve func(yaml.Node) string) (alarm, error) {
	threshold, err := strconv.ParseFloat(resolve(p.Threshold), 64)
	if err != nil {
		return alarm{}, fmt.Errorf("its threshold: %w", err)
	}
	a := alarm{
		Name: name, Threshold: threshold, OfSilence: p.TreatMissingData == "breaching", breaches: comparisons[p.ComparisonOperator],
		expression: "value", terms: map[string]term{},
	}
	if a.breaches == nil {
		return alarm{}, fmt.Errorf("it compares by %s", p.ComparisonOperator)
	}
	add := func(id, statistic string, m metric) {
		var of []string
		for _, d := range m.Dimensions {
			of = append(of, resolve(d.Value))
		}
		if len(of) == 0 {
			of = []string{wholeAccount}
		}
		a.terms[id] = term{series{m.Namespace, m.MetricName, strings.Join(of, "/")}, statistic}
	}
	for _, m := range p.Metrics {
		if query := ofEach.FindStringSubmatch(m.Expression); len(query) > 0 && query[3] == query[4] {
			a.terms["value"] = term{series{query[2], query[1], query[3]}, "Sum"}
			continue
		}
		if m.Expression != "" {
			a.expression = m.Expression
			continue
		}
		add(m.ID, m.MetricStat.Stat, m.MetricStat.Metric)
	}
	if len(p.Metrics) == 0 {
		add("value", cmp.Or(p.Statistic, p.ExtendedStatistic), metric{p.Namespace.Value, p.MetricName.Value, p.Dimensions})
	}
	for id, t := range a.terms {
		if t.series.Of == "" || statistics[t.statistic] == nil {
			return a, fmt.Errorf("%s is %s of %v", id, t.statistic, t.series)
		}
	}
	return a, a.check()
}

// check returns an error if evaluate does not support the expression.
func (a alarm) check() error {
	values := map[string]float64{}
	for id := range a.terms {
		values[id] = 1
	}
	if math.IsNaN(evaluate(a.expression, values)) {
		return fmt.Errorf("its expression %q is not known here", a.expression)
	}
	return nil
}

// evaluate returns the value of a metric math expression: numbers, the values by
// their names, + - * / >= < &&, FILL(name, number), IF(condition, value, other),
// MIN([values]) and SUM(METRICS()). It returns NaN for anything else.
func evaluate(expression string, values map[string]float64) float64 {
	e, err := parser.ParseExpr(strings.NewReplacer("([", "(", "])", ")").Replace(expression)) // Go has no such lists
	if err != nil {
		return math.NaN()
	}
	return evaluateNode(e, values)
}

func evaluateNode(e ast.Expr, values map[string]float64) float64 {
	switch e := e.(type) {
	case *ast.BasicLit:
		if v, err := strconv.ParseFloat(e.Value, 64); err == nil {
			return v
		}
	case *ast.Ident:
		if v, ok := values[e.Name]; ok {
			return v
		}
	case *ast.ParenExpr:
		return evaluateNode(e.X, values)
	case *ast.BinaryExpr:
		return applyOperator(e.Op, evaluateNode(e.X, values), evaluateNode(e.Y, values))
	case *ast.CallExpr:
		return evaluateCall(e, values)
	}
	return math.NaN()
}

func applyOperator(op token.Token, x, y float64) float64 {
	switch op { //nolint:exhaustive // the others are not of the language
	case token.ADD:
		return x + y
	case token.SUB:
		return x - y
	case token.MUL:
		return x * y
	case token.QUO:
		return x / y
	case token.GEQ:
		return truth(x, y, x >= y)
	case token.LSS:
		return truth(x, y, x < y)
	case token.LAND:
		return truth(x, y, x != 0 && y != 0)
	}
	return math.NaN()
}

// truth is 1 for what is true of two numbers. Of a missing one, nothing is known.
func truth(x, y float64, holds bool) float64 {
	switch {
	case math.IsNaN(x), math.IsNaN(y):
		return math.NaN()
	case holds:
		return 1
	}
	return 0
}

func evaluateCall(e *ast.CallExpr, values map[string]float64) float64 {
	name, _ := e.Fun.(*ast.Ident)
	switch {
	case name == nil:
	case name.Name == "FILL" && len(e.Args) == 2:
		if v := evaluateNode(e.Args[0], values); !math.IsNaN(v) {
			return v
		}
		return evaluateNode(e.Args[1], values)
	case name.Name == "IF" && len(e.Args) == 3:
		return evaluateIf(e.Args[0], e.Args[1], e.Args[2], values)
	case name.Name == "MIN" && len(e.Args) > 0:
		least := math.Inf(1)
		for _, of := range e.Args {
			least = min(least, evaluateNode(of, values)) // NaN if one is
		}
		return least
	case name.Name == "SUM" && len(e.Args) == 1:
		if of, ok := e.Args[0].(*ast.CallExpr); ok && len(of.Args) == 0 {
			return statistics["Sum"](slices.Collect(maps.Values(values)))
		}
	}
	return math.NaN()
}

// evaluateIf returns the value if the condition is not 0. A missing condition makes the result missing.
func evaluateIf(condition, value, other ast.Expr, values map[string]float64) float64 {
	holds := evaluateNode(condition, values)
	switch {
	case math.IsNaN(holds):
		return holds
	case holds != 0:
		return evaluateNode(value, values)
	}
	return evaluateNode(other, values)
}
