// Command prove shows what the service promises on one machine, and prints a table
// of it. Each part stands for itself; --only runs one.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"campaign-dispatch/localstack/stackenv"
)

func main() {
	only := flag.String("only", "", "run only these parts, with commas between them: "+strings.Join(partNames(), ", "))
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *only)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "prove:", err)
		os.Exit(1)
	}
}

// part shows one promise on a running stack, or else on one of its own.
type part struct {
	name     string
	show     func(ctx context.Context, env stackenv.Env) ([]result, error)
	ownStack bool
}

func parts() []part {
	return []part{
		{name: "second-opinion", show: secondOpinion},
		{name: "linearizability", show: linearizability},
		{name: "faults", show: faults, ownStack: true},
		{name: "load", show: apart("load", load), ownStack: true},
		{name: "crowd", show: apart("crowd", crowd), ownStack: true},
		{name: "cost", show: cost, ownStack: true},
		{name: "observability", show: observability}, // before least-privilege, which leaves messages that the provider refuses for days
		{name: "least-privilege", show: leastPrivilege},
		{name: "wrong-hands", show: wrongHands},
		{name: "clients", show: realClients},
		{name: "bad-input", show: badInput}, // after clients: it uses up the failures of its address
		{name: "deployment", show: deployment, ownStack: true},
		{name: "secrets", show: secrets}, // the last one: it searches what all others left
	}
}

func partNames() (names []string) {
	for _, p := range parts() {
		names = append(names, p.name)
	}
	return names
}

// chosen returns the parts that a list names, in their own order, or all of them.
func chosen(list string) ([]part, error) {
	if list == "" {
		return parts(), nil
	}
	names := strings.Split(list, ",")
	for _, name := range names {
		if !slices.Contains(partNames(), name) {
			return nil, fmt.Errorf("there is no part %q: it is one of %s", name, strings.Join(partNames(), ", "))
		}
	}
	return slices.DeleteFunc(parts(), func(p part) bool { return !slices.Contains(names, p.name) }), nil
}

// result is one line of the table.
type result struct {
	Part   string `json:"part"`
	What   string `json:"what"`   // that was done, in figures
	Figure string `json:"figure"` // that came of it
	Kept   bool   `json:"kept"`   // the promise
}

func run(ctx context.Context, only string) error {
	some, err := chosen(only)
	if err != nil {
		return err
	}
	env, err := stackenv.Read(os.Getenv(stackenv.Variable))
	if err != nil && slices.ContainsFunc(some, func(p part) bool { return !p.ownStack }) {
		return fmt.Errorf("no stack is running: use `make prove` (%w)", err)
	}
	var results []result
	for _, p := range some {
		results = append(results, p.run(ctx, env)...)
		if ctx.Err() != nil {
			break
		}
	}
	return report(os.Stdout, results, reportFile(only))
}

// reportFile is where the table is kept: that of some parts beside that of all.
func reportFile(only string) string {
	if only == "" {
		return ".local/prove.json"
	}
	return ".local/prove-" + strings.ReplaceAll(only, ",", "-") + ".json"
}

func (p part) run(ctx context.Context, env stackenv.Env) []result {
	begun := time.Now()
	fmt.Fprintf(os.Stderr, "… %s\n", p.name)
	found, err := p.show(ctx, env)
	if ctx.Err() != nil {
		return append(found, result{p.name, "it was interrupted", "make prove PROVE=" + p.name + " runs it alone", false})
	}
	if err != nil {
		found = append(found, result{p.name, "it broke off", err.Error(), false})
	}
	fmt.Fprintf(os.Stderr, "  %s took %s\n", p.name, time.Since(begun).Round(time.Second))
	return found
}

// report prints the table, keeps it in a file, and returns an error where a promise
// was not kept.
func report(w io.Writer, results []result, file string) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "part\twhat\tfigure\t")
	var broken []string
	for _, r := range results {
		verdict := "kept"
		if !r.Kept {
			verdict = "NOT KEPT"
			broken = append(broken, r.Part)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", r.Part, r.What, firstLine(r.Figure), verdict)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	text, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil { //nolint:gosec // its name is made of parts' names
		return fmt.Errorf("keep the table: %w", err)
	}
	if len(broken) > 0 {
		return fmt.Errorf("%d of %d promises were not kept, %s tells more: %s", len(broken), len(results), file, strings.Join(broken, ", "))
	}
	return nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
