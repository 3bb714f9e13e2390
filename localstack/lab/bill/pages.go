package bill

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"campaign-dispatch/localstack/lab/metering"
)

// figures are the costs that README.md and docs/proofs.md publish.
type figures struct {
	prices, other                 metering.Prices
	usual, oneEndpoint, worstCase Metered
	resources                     Resources
}

// Pages returns README.md and docs/proofs.md in a project's folder with the costs that follow
// from the last metered units, the kept prices and the resources of the template. The keys
// are their paths.
func Pages(root string) (map[string]string, error) {
	f, err := published(root)
	if err != nil {
		return nil, err
	}
	pages := map[string]string{}
	all := map[string][]func(string) (string, error){"README.md": {f.inREADME, f.otherRegion}, "docs/proofs.md": {f.inProofs}}
	for name, fills := range all {
		path := filepath.Join(root, name)
		text, err := os.ReadFile(path) //nolint:gosec // a file of the project
		pages[path] = string(text)
		for _, fill := range fills {
			if err == nil {
				pages[path], err = fill(pages[path])
			}
		}
		if err != nil {
			return nil, fmt.Errorf("write the costs in %s: %w", path, err)
		}
	}
	return pages, nil
}

func published(root string) (f figures, err error) {
	var failures [6]error
	f.prices, failures[0] = metering.PriceList(metering.Virginia)
	f.other, failures[1] = metering.PriceList(metering.SaoPaulo)
	f.usual, failures[2] = last(root, Usual)
	f.oneEndpoint, failures[3] = last(root, OneEndpoint)
	f.worstCase, failures[4] = last(root, WorstCase)
	f.resources, failures[5] = CountResources(filepath.Join(root, "template.yaml"))
	return f, errors.Join(failures[:]...)
}

var shapes = []string{"clustered", "a day's mix", "interleaved"}

// steps are the first rows of the table: labels with their functions. Another function has a row of its own.
var steps = [][]string{
	{"accepting them: token, dispatch", "token", "dispatch"},
	{"sending them: release, send", "release", "send"},
	{"taking their events: events", "events"},
	{"recording the events: outcomes", "outcomes"},
	{"the stream feeder: feed", "feed"},
	{"notify tasks: notify", "notify"},
}

// parts are the rows of the table with the columns of services of each.
var parts = [][]string{
	{"DynamoDB: writes of tables", "table writes"},
	{"DynamoDB: writes of indexes", "index writes"},
	{"DynamoDB: reads", "reads"},
	{"S3", "S3"},
	{"SQS", "SQS"},
	{"Lambda", "Lambda"},
	{"the API, logs, keys and schedules", "API Gateway", "logs", "KMS, Scheduler"},
}

// The first cells of the tables.
const (
	costHeader  = "| dollars per million messages |"
	loadHeader  = "| simulated dollars per million messages |"
	otherHeader = "| dollars per million messages, under other conditions |"
	idleHeader  = "| dollars a month without messages |"
)

// inProofs returns docs/proofs.md with the figures.
func (f figures) inProofs(page string) (string, error) {
	var err error
	for header, rows := range map[string][]string{loadHeader: loadRows(), costHeader: f.costRows(), otherHeader: f.otherRows(), idleHeader: f.idleRows()} {
		if page, err = replaceRows(page, header, rows); err != nil {
			return "", err
		}
	}
	return page, nil
}

var errNoPlace = errors.New("no place for the figures")

// replaceRows replaces the rows of the table with a header, up to the next empty line.
func replaceRows(page, header string, rows []string) (string, error) {
	before, table, found := strings.Cut(page, header)
	_, after, ends := strings.Cut(table, "\n\n")
	if !found || !ends {
		return "", fmt.Errorf("%w after %q", errNoPlace, header)
	}
	return before + header + strings.Join(rows, "\n") + "\n\n" + after, nil
}

var costInREADME = regexp.MustCompile(`About \d+ dollars per million messages at .* Data transfer adds [\d.]*\d`)

// readmeDay are the messages a day of the simulated cost in README.md.
const readmeDay = 1e6

// inREADME returns README.md with the simulated cost, and the metered one of a day's mix.
func (f figures) inREADME(page string) (string, error) {
	if !costInREADME.MatchString(page) {
		return "", errNoPlace
	}
	s := f.usual.shape("a day's mix")
	simulated := AtLoad(readmeDay)
	cost := fmt.Sprintf("About %.0f dollars per million messages at %s a day (simulated, ±20 %%); %.2f if every function call had as many events as it can take (metered lower bound). Data transfer adds %.2f",
		simulated.Dollars, simulated.Name, s.Dollars(f.prices), s.TransferGB*f.prices.TransferGB)
	return costInREADME.ReplaceAllLiteralString(page, cost), nil
}

// dearerDynamoDB is the assumed price of DynamoDB in the other region, where none was found: times the known price.
const dearerDynamoDB = 2

var costElsewhere = regexp.MustCompile(`about \d+ dollars if DynamoDB costs twice as much \(assumed\),\nand data transfer adds [\d.]*\d`)

// otherRegion returns README.md with the simulated cost where staging and production are. Other prices hardly change the sum.
func (f figures) otherRegion(page string) (string, error) {
	if !costElsewhere.MatchString(page) {
		return "", errNoPlace
	}
	simulated, s := AtLoad(readmeDay), f.usual.shape("a day's mix")
	cost := fmt.Sprintf("about %.0f dollars if DynamoDB costs twice as much (assumed),\nand data transfer adds %.2f",
		simulated.Dollars+(dearerDynamoDB-1)*simulated.DynamoDB, s.TransferGB*f.other.TransferGB)
	return costElsewhere.ReplaceAllLiteralString(page, cost), nil
}

func (m Metered) shape(name string) Shape {
	at := slices.IndexFunc(m.Shapes, func(s Shape) bool { return s.Name == name })
	if at < 0 {
		return Shape{Name: name}
	}
	return m.Shapes[at]
}

// rows formats a table whose columns are the shapes.
type rows struct {
	metered Metered
	lines   []string
}

// header returns the rest of a header row after its first cell, and the line below it.
func header(columns []string) []string {
	return []string{" " + strings.Join(columns, " | ") + " |", "|" + strings.Repeat("---|", len(columns)+1)}
}

func row(label string, cells ...string) string {
	return "| " + label + " | " + strings.Join(cells, " | ") + " |"
}

// add adds a row with a cost of each shape.
func (r *rows) add(label string, format func(float64) string, cost func(Shape) float64) {
	cells := make([]string, len(shapes))
	for i, name := range shapes {
		cells[i] = format(cost(r.metered.shape(name)))
	}
	r.lines = append(r.lines, row(label, cells...))
}

func (f figures) costRows() []string {
	r := rows{f.usual, header(shapes)}
	for _, step := range f.allSteps() {
		r.add(step[0], short, func(s Shape) float64 { return s.of(step[1:]).Dollars(f.prices.Units) })
	}
	bold := func(d float64) string { return "**" + cents(d) + "**" }
	r.add("**all, in "+f.prices.Region+"**", bold, func(s Shape) float64 { return s.Dollars(f.prices) })
	r.add("data transfer out, beside the sum", short, func(s Shape) float64 { return s.TransferGB * f.prices.TransferGB })
	r.add("**all, with data transfer**", bold, func(s Shape) float64 { return s.Dollars(f.prices) + s.TransferGB*f.prices.TransferGB })
	for _, part := range parts {
		r.add("of which "+part[0], short, func(s Shape) (sum float64) {
			for _, service := range services {
				if slices.Contains(part[1:], service.name) {
					sum += service.of(s.Sum().Units).Dollars(f.prices.Units)
				}
			}
			return sum
		})
	}
	priced := func(s Shape) metering.Units { return s.Sum().Units.Without(f.other.NotFound) }
	r.add("in "+f.other.Region+", without DynamoDB and signatures", cents, func(s Shape) float64 { return priced(s).Dollars(f.other.Units) })
	r.add("the same part in "+f.prices.Region, cents, func(s Shape) float64 { return priced(s).Dollars(f.prices.Units) })
	return r.lines
}

// allSteps are the steps, and one for each metered function that they lack.
func (f figures) allSteps() [][]string {
	var lines []Line
	for _, s := range f.usual.Shapes {
		lines = append(lines, s.Lines...)
	}
	all := slices.Clone(steps)
	for _, l := range Merge(lines) {
		if !slices.ContainsFunc(steps, func(step []string) bool { return slices.Contains(step[1:], l.Function) }) {
			all = append(all, []string{l.Function, l.Function})
		}
	}
	return all
}

// of returns the use of some functions.
func (s Shape) of(functions []string) metering.Units {
	others := func(l Line) bool { return !slices.Contains(functions, l.Function) }
	return Sum("", slices.DeleteFunc(slices.Clone(s.Lines), others)).Units
}

// loadRows returns the rows of the simulated costs by the messages a day.
func loadRows() []string {
	var days, two, one []string
	for _, s := range ByLoad {
		days = append(days, s.Name+" a day")
		two, one = append(two, fmt.Sprintf("%.1f", s.Dollars)), append(one, fmt.Sprintf("%.1f", s.OneEndpoint))
	}
	return append(header(days), row("with two endpoints", two...), row("with one endpoint", one...))
}

func (f figures) otherRows() []string {
	dollars := func(s Shape) float64 { return s.Dollars(f.prices) }
	one, worst := rows{f.oneEndpoint, header(shapes)}, rows{metered: f.worstCase}
	one.add("with one endpoint", cents, dollars)
	worst.add("full calls, one isolated event of each kind in a batch", cents, dollars)
	naive := cents(Sum("", f.usual.Naive).Units.Dollars(f.prices.Units))
	return slices.Concat(one.lines, worst.lines, []string{row("the baseline design: one endpoint, ten tasks a call", naive, naive, naive)})
}

func (f figures) idleRows() []string {
	here, there := f.resources.Month(f.prices, f.usual.Sweep), f.resources.Month(f.other, f.usual.Sweep)
	lines := append(header([]string{f.prices.Region, f.other.Region}),
		row("**all**", total(here), total(there)))
	for i, part := range here {
		lines = append(lines, row(part.What, cents(part.Dollars)+unknown(part), cents(there[i].Dollars)+unknown(there[i])))
	}
	return lines
}

// total formats the sum of a month. It is a lower bound if a price is unknown.
func total(idle []Idle) string {
	month := 0.0
	for _, part := range idle {
		month += part.Dollars
	}
	sum := "**" + cents(month) + "**"
	if missing := unknown(idle...); missing != "" {
		return "at least " + sum + missing
	}
	return sum
}

func unknown(idle ...Idle) string {
	if slices.ContainsFunc(idle, func(part Idle) bool { return len(part.Unpriced) > 0 }) {
		return ", some prices unknown"
	}
	return ""
}

func cents(dollars float64) string { return fmt.Sprintf("%.2f", dollars) }

// short formats an amount with three digits after the point if it is below ten cents.
func short(dollars float64) string {
	if dollars < 0.1 {
		return fmt.Sprintf("%.3f", dollars)
	}
	return cents(dollars)
}
