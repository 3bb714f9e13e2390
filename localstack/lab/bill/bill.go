// Package bill prints the metered cost by function and service.
package bill

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"campaign-dispatch/localstack/lab/metering"
)

// Bill is the cost of messages in US dollars, compared with a baseline design.
type Bill struct {
	Metered

	Prices      metering.Prices `json:"prices"`
	Other       metering.Prices `json:"otherPrices"` // prices of another region
	Beside      []Line          `json:"beside"`      // lines outside the sums
	Idle        []Idle          `json:"idle"`        // cost of a month without messages
	OtherIdle   []Idle          `json:"otherIdle"`
	Assumptions []string        `json:"assumptions"`
}

// Shape is the cost of messages whose events arrive in one order.
type Shape struct {
	Name       string `json:"name"`
	Conditions string `json:"conditions"`
	Lines      []Line `json:"functions"`
	// TransferGB leaves AWS for a million messages. It is a line beside the sum.
	TransferGB float64 `json:"transferGB"`
}

// Sum returns the sum of the lines.
func (s Shape) Sum() Line { return Sum(s.Name, s.Lines) }

// Dollars returns the cost of a million messages.
func (s Shape) Dollars(p metering.Prices) float64 { return s.Sum().Units.Dollars(p.Units) }

// Line is the use of a function.
type Line struct {
	Function string         `json:"function"`
	Units    metering.Units `json:"units"` // per million messages
}

// Million is the number of messages that a line covers.
const Million = 1_000_000

// services are the columns of the table.
var services = []struct {
	name string
	of   func(u metering.Units) metering.Units
}{
	{"Lambda", func(u metering.Units) metering.Units {
		return metering.Units{Invocations: u.Invocations, GBSeconds: u.GBSeconds, ComputedGBSeconds: u.ComputedGBSeconds}
	}},
	{"table writes", func(u metering.Units) metering.Units { return metering.Units{Writes: u.Writes} }},
	{"index writes", func(u metering.Units) metering.Units { return metering.Units{IndexWrites: u.IndexWrites} }},
	{"reads", func(u metering.Units) metering.Units { return metering.Units{Reads: u.Reads} }},
	{"SQS", func(u metering.Units) metering.Units {
		return metering.Units{SQSRequests: u.SQSRequests, FairRequests: u.FairRequests}
	}},
	{"S3", func(u metering.Units) metering.Units { return metering.Units{Puts: u.Puts, Gets: u.Gets} }},
	{"API Gateway", func(u metering.Units) metering.Units { return metering.Units{APICalls: u.APICalls} }},
	{"logs", func(u metering.Units) metering.Units { return metering.Units{LogGB: u.LogGB} }},
	{"KMS, Scheduler", func(u metering.Units) metering.Units {
		return metering.Units{KMSRequests: u.KMSRequests, KMSSignatures: u.KMSSignatures, Schedules: u.Schedules}
	}},
}

// Sum returns a line with the sum of the lines.
func Sum(name string, lines []Line) Line {
	sum := Line{Function: name}
	for _, l := range lines {
		sum.Units.Add(l.Units)
	}
	return sum
}

// way is the order of the functions that handle a message. Other functions precede notify.
var way = []string{"token", "dispatch", "release", "send", "events", "outcomes", "feed", "", "notify"}

func place(function string) int {
	if at := slices.Index(way, function); at >= 0 {
		return at
	}
	return slices.Index(way, "")
}

// Merge adds the lines of each function and sorts them by way.
func Merge(some ...[]Line) (merged []Line) {
	for _, l := range slices.Concat(some...) {
		at := slices.IndexFunc(merged, func(m Line) bool { return m.Function == l.Function })
		if at < 0 {
			merged = append(merged, l)
			continue
		}
		merged[at].Units.Add(l.Units)
	}
	slices.SortStableFunc(merged, func(a, b Line) int {
		return cmp.Or(cmp.Compare(place(a.Function), place(b.Function)), strings.Compare(a.Function, b.Function))
	})
	return merged
}

// Print prints a table of the shapes, the idle cost and the assumptions.
func (b Bill) Print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "dollars per million messages\tcalls\t")
	for _, s := range services {
		fmt.Fprint(table, s.name, "\t")
	}
	fmt.Fprintf(table, "%s\t%s\tof that in %s\t\n", b.Prices.Region, b.Other.Region, b.Prices.Region)
	for _, s := range b.Shapes {
		b.lines(table, s.Lines, s.Sum())
	}
	b.lines(table, b.Naive, Sum("the baseline design", b.Naive))
	b.lines(table, nil, b.Beside...)
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	fmt.Fprintln(w)
	for _, s := range b.Shapes {
		fmt.Fprintf(w, "%s: %s; %.2f GB leave AWS, for %.4f dollars more\n", s.Name, s.Conditions, s.TransferGB, s.TransferGB*b.Prices.TransferGB)
	}
	if len(b.Other.NotFound) > 0 {
		fmt.Fprintf(w, "+: excluded in %s, because their prices were not found: %s; the next column has the cost of the rest in %s\n",
			b.Other.Region, strings.Join(b.Other.NotFound, ", "), b.Prices.Region)
	}
	printIdle(w, b.Prices, b.Idle)
	printIdle(w, b.Other, b.OtherIdle)
	for _, a := range b.Assumptions {
		fmt.Fprintln(w, "-", a)
	}
	return nil
}

func (b Bill) lines(w io.Writer, lines []Line, more ...Line) {
	for _, l := range slices.Concat(lines, more) {
		fmt.Fprintf(w, "%s\t%s\t", l.Function, strconv.FormatFloat(l.Units.Invocations, 'f', 0, 64))
		for _, s := range services {
			fmt.Fprint(w, dollars(s.of(l.Units).Dollars(b.Prices.Units)), "\t")
		}
		other := dollars(l.Units.Dollars(b.Other.Units))
		if len(b.Other.Unpriced(l.Units)) > 0 {
			other += "+"
		}
		same := l.Units.Without(b.Other.NotFound).Dollars(b.Prices.Units)
		fmt.Fprintf(w, "%s\t%s\t%s\t\n", dollars(l.Units.Dollars(b.Prices.Units)), other, dollars(same))
	}
	fmt.Fprint(w, strings.Repeat("\t", len(services)+5), "\n")
}

// dollars formats an amount. 0 is empty.
func dollars(d float64) string {
	if d == 0 {
		return "-"
	}
	return fmt.Sprintf("%.4f", d)
}

func printIdle(w io.Writer, p metering.Prices, idle []Idle) {
	month, parts := 0.0, make([]string, len(idle))
	for n, i := range idle {
		month += i.Dollars
		parts[n] = fmt.Sprintf("%s %.2f", i.What, i.Dollars)
	}
	const hours = 30 * 24
	fmt.Fprintf(w, "Without messages in %s: %.2f dollars a month, %.4f an hour (%s)", p.Region, month, month/hours, strings.Join(parts, ", "))
	if unpriced := unpricedOf(idle); len(unpriced) > 0 {
		fmt.Fprintf(w, ", without %s, whose prices were not found", strings.Join(unpriced, ", "))
	}
	fmt.Fprintln(w, ".")
}

func unpricedOf(idle []Idle) (names []string) {
	for _, i := range idle {
		names = append(names, i.Unpriced...)
	}
	return names
}

// Write writes the bill to a file as JSON.
func (b Bill) Write(path string) error { return writeJSON(path, b) }

func writeJSON(path string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.WriteFile(path, append(text, '\n'), 0o600)
}

// Metered is what one run of `make cost` has metered: units without prices. In files from before
// ComputedGBSeconds, GBSeconds are those of waiting and computing.
type Metered struct {
	Conditions

	Shapes []Shape        `json:"shapes"`
	Naive  []Line         `json:"naive"`
	Sweep  metering.Units `json:"sweep"` // one call of the sweep function
}

// Conditions are the settings that the metered units depend on.
type Conditions struct {
	Messages  int `json:"messages"`
	Endpoints int `json:"endpoints"`
	Rounds    int `json:"rounds"` // isolated events of each kind in a batch
}

// The conditions whose costs are published.
var (
	Usual       = Conditions{Messages: 10_000, Endpoints: 2, Rounds: 20}
	OneEndpoint = Conditions{Messages: 10_000, Endpoints: 1, Rounds: 20}
	WorstCase   = Conditions{Messages: 10_000, Endpoints: 2, Rounds: 1}
)

// meteredFile returns the file of the last run under published conditions.
func meteredFile(root string, c Conditions) (path string, published bool) {
	name, published := map[Conditions]string{Usual: "usual.json", OneEndpoint: "one-endpoint.json", WorstCase: "worst-case.json"}[c]
	return filepath.Join(root, "localstack", "lab", "bill", "metered", name), published
}

// Keep copies the metered units of a bill's file to the file of its conditions. It returns
// false for conditions that are not published.
func Keep(root, billFile string) (kept bool, err error) {
	m, err := readMetered(billFile)
	if err != nil {
		return false, err
	}
	path, published := meteredFile(root, m.Conditions)
	if !published {
		return false, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return false, fmt.Errorf("keep the metered units: %w", err)
	}
	return true, writeJSON(path, m)
}

// last returns the last run under published conditions.
func last(root string, c Conditions) (Metered, error) {
	path, _ := meteredFile(root, c)
	return readMetered(path)
}

var errNothingMetered = errors.New("nothing was metered")

func readMetered(path string) (m Metered, err error) {
	text, err := os.ReadFile(path) //nolint:gosec // a file of the project
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err == nil && len(m.Shapes) == 0 {
		err = errNothingMetered
	}
	if err != nil {
		return m, fmt.Errorf("read the metered units in %s: %w", path, err)
	}
	return m, nil
}
