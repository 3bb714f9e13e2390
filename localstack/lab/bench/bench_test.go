// Package bench holds the benchmarks of `make bench`. A benchmark compares the processor
// time of the service with a baseline of the same run, so that the machine's speed does
// not matter, and fails where the ratio exceeds its limit.
package bench

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"os"
	"slices"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"
)

// TestMain prints the table of all figures and keeps it in a file.
func TestMain(m *testing.M) {
	flag.Parse()
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the functions measured log every step
	if err := os.Chdir("../../.."); err != nil {
		panic(err)
	}
	code := m.Run()
	if wanted := flag.Lookup("test.bench").Value.String(); wanted != "" {
		if err := report(os.Stdout, figures); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// figure is one line of the table. The limit is on the ratio: the value divided by the
// baseline, or the value itself without a baseline.
type figure struct {
	Name     string  `json:"name"`
	Value    float64 `json:"value"`
	Unit     string  `json:"unit"`
	Baseline float64 `json:"baseline"`
	Ratio    float64 `json:"ratio"`
	Limit    float64 `json:"limit"` // 0: reported only
	Method   string  `json:"method"`
}

// figures are the lines so far.
var figures []figure

// record adds a line, and fails the benchmark where its ratio is over the limit or NaN.
func record(b *testing.B, f figure) {
	b.Helper()
	figures = append(figures, f)
	if f.Limit != 0 && !(f.Ratio <= f.Limit) { // NaN is over every limit
		b.Errorf("%s: %.4g is over the limit of %.4g", f.Name, f.Ratio, f.Limit)
	}
}

// measured is a figure without a baseline.
func measured(name string, value float64, unit string, limit float64, method string) figure {
	return figure{Name: name, Value: value, Unit: unit, Ratio: value, Limit: limit, Method: method}
}

// compared is a figure in milliseconds against a baseline of the same run.
func compared(name string, p pair, limit float64, method string) figure {
	const ms = 1e6
	return figure{
		Name: name, Value: float64(p.subject) / ms, Unit: "ms", Baseline: float64(p.baseline) / ms,
		Ratio: p.ratio, Limit: limit, Method: method,
	}
}

func report(w io.Writer, figures []figure) error {
	if len(figures) == 0 {
		return errors.New("no such part: want one of accept, carousel, phones, set, many, large, send, pages, overview, start, first (make cost has the costs)")
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "figure\tvalue\tbaseline\tratio\tlimit\t\tmethod")
	orNone := func(value float64) string {
		if value == 0 {
			return "-"
		}
		return fmt.Sprintf("%.4g", value)
	}
	for _, f := range figures {
		verdict := "TOO HIGH"
		switch {
		case f.Limit == 0:
			verdict = "reported"
		case f.Ratio <= f.Limit:
			verdict = "ok"
		}
		fmt.Fprintf(table, "%s\t%.4g %s\t%s\t%.4g\t%s\t%s\t%s\n",
			f.Name, f.Value, f.Unit, orNone(f.Baseline), f.Ratio, orNone(f.Limit), verdict, f.Method)
	}
	body, err := json.MarshalIndent(figures, "", "  ")
	return errors.Join(table.Flush(), err, os.MkdirAll(".local", 0o750), os.WriteFile(".local/bench.json", append(body, '\n'), 0o600))
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// newRandom returns the same numbers in every run.
func newRandom() *mathrand.Rand { return mathrand.New(mathrand.NewPCG(1, 2)) }

// cpuTime returns the processor time of this process.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // the call has no way to fail
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// rounds is how often two things are measured in turn.
const rounds = 15

// pair is the processor time of one call of a subject and of its baseline, and the
// median of the ratios of the rounds.
type pair struct {
	subject, baseline time.Duration
	ratio             float64
}

// newPair is the pair of the medians of rounds.
func newPair(subjects, baselines []time.Duration) pair {
	ratios := make([]float64, len(subjects))
	for i := range subjects {
		ratios[i] = float64(subjects[i]) / float64(baselines[i])
	}
	return pair{median(subjects), median(baselines), median(ratios)}
}

// compare measures the two in turn, so that a machine that changes its speed changes it
// for both. Each round makes calls of both: as many as given.
func compare(subject, baseline func(), subjectCalls, baselineCalls int) pair {
	spend(subject, 1)
	spend(baseline, 1)
	var subjects, baselines []time.Duration
	for range rounds {
		subjects, baselines = append(subjects, spend(subject, subjectCalls)), append(baselines, spend(baseline, baselineCalls))
	}
	return newPair(subjects, baselines)
}

// spend returns the processor time of one call, out of several.
func spend(call func(), calls int) time.Duration {
	start := cpuTime()
	for range calls {
		call()
	}
	return (cpuTime() - start) / time.Duration(calls)
}

func median[T int | float64 | time.Duration](values []T) T {
	return slices.Sorted(slices.Values(values))[len(values)/2]
}
