// Package bill makes a table of what was metered, by function and service.
package bill

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"campaign-dispatch/localstack/metering"
)

// Bill is what so many messages cost, in US dollars, beside another design.
type Bill struct {
	Prices      metering.Prices `json:"prices"`
	Ours        []Line          `json:"service"`
	Naive       []Line          `json:"naive"`
	Beside      []Line          `json:"beside"` // what is in no sum
	Idle        []Idle          `json:"idle"`   // a month with nothing sent
	Assumptions []string        `json:"assumptions"`
}

// Line is what a function costs.
type Line struct {
	Function string         `json:"function"`
	Units    metering.Units `json:"units"` // per million messages
}

// Million is the messages that a line is for.
const Million = 1_000_000

// services are the columns of the table.
var services = []struct {
	name string
	of   func(u metering.Units) metering.Units
}{
	{"Lambda", func(u metering.Units) metering.Units {
		return metering.Units{Invocations: u.Invocations, GBSeconds: u.GBSeconds}
	}},
	{"DynamoDB", func(u metering.Units) metering.Units { return metering.Units{Writes: u.Writes, Reads: u.Reads} }},
	{"SQS", func(u metering.Units) metering.Units { return metering.Units{SQSRequests: u.SQSRequests} }},
	{"S3", func(u metering.Units) metering.Units { return metering.Units{Puts: u.Puts, Gets: u.Gets} }},
	{"API Gateway", func(u metering.Units) metering.Units { return metering.Units{APICalls: u.APICalls} }},
	{"logs", func(u metering.Units) metering.Units { return metering.Units{LogGB: u.LogGB} }},
	{"KMS, Scheduler", func(u metering.Units) metering.Units {
		return metering.Units{KMSRequests: u.KMSRequests, KMSSignatures: u.KMSSignatures, Schedules: u.Schedules}
	}},
}

// Sum is a line of all lines.
func Sum(name string, lines []Line) Line {
	sum := Line{Function: name}
	for _, l := range lines {
		sum.Units.Add(l.Units)
	}
	return sum
}

// Dollars is what the service costs per million messages.
func (b Bill) Dollars() float64 { return Sum("", b.Ours).Units.Dollars(b.Prices.Units) }

// Times is how many times dearer the naive design is.
func (b Bill) Times() float64 { return Sum("", b.Naive).Units.Dollars(b.Prices.Units) / b.Dollars() }

// Print prints the table.
func (b Bill) Print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "dollars per million messages\tcalls\t")
	for _, s := range services {
		fmt.Fprint(table, s.name, "\t")
	}
	fmt.Fprint(table, "total\t\n")
	b.lines(table, b.Ours, Sum("the service", b.Ours))
	b.lines(table, b.Naive, Sum("the naive design", b.Naive))
	b.lines(table, nil, b.Beside...)
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	fmt.Fprintf(w, "\nThe naive design is %.1f times dearer.\n", b.Times())
	b.printIdle(w)
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
		fmt.Fprint(w, dollars(l.Units.Dollars(b.Prices.Units)), "\t\n")
	}
}

// dollars leaves out what is nothing.
func dollars(d float64) string {
	if d == 0 {
		return "-"
	}
	return fmt.Sprintf("%.4f", d)
}

func (b Bill) printIdle(w io.Writer) {
	month, parts := 0.0, make([]string, len(b.Idle))
	for n, i := range b.Idle {
		month += i.Dollars
		parts[n] = fmt.Sprintf("%s %.2f", i.What, i.Dollars)
	}
	const hours = 30 * 24
	fmt.Fprintf(w, "With nothing sent: %.2f dollars a month, %.4f an hour (%s).\n", month, month/hours, strings.Join(parts, ", "))
}

// Write keeps the bill as JSON.
func (b Bill) Write(path string) error {
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return fmt.Errorf("write the bill: %w", err)
	}
	return os.WriteFile(path, append(text, '\n'), 0o600)
}
