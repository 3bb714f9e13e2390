package prove

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/localstack/lab/ephemeralstack"
	"campaign-dispatch/localstack/stackenv"
)

// part checks one promise, on the stack of `make prove` or on one of its own.
type part struct {
	name     string
	check    func(ctx context.Context, t *testing.T, env stackenv.Env)
	ownStack bool
}

// parts are in the order in which they run.
func parts() []part {
	return []part{
		{name: "second-opinion", check: secondOpinion},
		{name: "race", check: race},
		{name: "linearizability", check: linearizability},
		{name: "browser", check: browser},
		{name: "end-to-end", check: endToEnd},
		{name: "faults", check: faults, ownStack: true},
		{name: "load", check: onOwnStack("load", load), ownStack: true},
		{name: "crowd", check: onOwnStack("crowd", crowd), ownStack: true},
		{name: "cost", check: cost, ownStack: true},
		{name: "scale", check: scaleModel, ownStack: true},
		{name: "observability", check: observability}, // before least-privilege, which leaves messages that the provider refuses for days
		{name: "least-privilege", check: leastPrivilege},
		{name: "wrong-hands", check: authorization},
		{name: "clients", check: realClients},
		{name: "bad-input", check: badInput}, // after clients: it reaches the limit of failures of its address
		{name: "deployment", check: deployment, ownStack: true},
		{name: "secrets", check: searchLogs}, // last: it searches the logs of all others
	}
}

func partNames() (names []string) {
	for _, p := range parts() {
		names = append(names, p.name)
	}
	return names
}

// chosenParts returns the parts that a list names, in their own order, or all of them.
func chosenParts(list string) ([]part, error) {
	if list == "" {
		return parts(), nil
	}
	names := strings.Split(list, ",")
	for _, name := range names {
		if !slices.Contains(partNames(), name) {
			return nil, fmt.Errorf("unknown part %q: want one of %s", name, strings.Join(partNames(), ", "))
		}
	}
	return slices.DeleteFunc(parts(), func(p part) bool { return !slices.Contains(names, p.name) }), nil
}

// onOwnStack runs a check on a stack of its own, and searches the logs of that stack.
// Rows by the hundred thousand make the emulator slow for all parts after: it reads an
// index by going through the whole table.
func onOwnStack(name string, check func(context.Context, *testing.T, stackenv.Env)) func(context.Context, *testing.T, stackenv.Env) {
	return func(ctx context.Context, t *testing.T, _ stackenv.Env) {
		t.Helper()
		_, env := startStack(ctx, t, name)
		check(ctx, t, env)
		searchLogs(ctx, t, env)
	}
}

// startStack starts a stack that ends with the test.
func startStack(ctx context.Context, t *testing.T, name string, flags ...string) (*ephemeralstack.Stack, stackenv.Env) {
	t.Helper()
	return startStackIn(ctx, t, "", name, flags...)
}

// startStackIn is startStack for another folder with the project, such as an earlier release.
func startStackIn(ctx context.Context, t *testing.T, root, name string, flags ...string) (*ephemeralstack.Stack, stackenv.Env) {
	t.Helper()
	stack, err := ephemeralstack.New(ctx, "campaign-dispatch-"+name, ".local/"+name)
	check(t, err)
	stack.Root = root
	t.Cleanup(func() {
		if err := stack.Down(ctx); err != nil {
			t.Error(err)
		}
	})
	env, err := stack.Up(ctx, flags...)
	check(t, err)
	return stack, env
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// result is one line of the table.
type result struct {
	Part   string `json:"part"`
	What   string `json:"what"`   // the test, in figures
	Figure string `json:"figure"` // the result
	Kept   bool   `json:"kept"`   // whether the promise was kept
}

// results are the lines so far. Parts run one after the other.
var results []result

// record adds a line of the running part, and fails its test if the promise was not kept.
func record(t *testing.T, kept bool, what, figure string) {
	t.Helper()
	results = append(results, result{strings.Split(t.Name(), "/")[1], what, figure, kept})
	if !kept {
		t.Errorf("%s: %s", what, figure)
	}
}

// report prints the table and keeps it in a file.
func report(w io.Writer, results []result, file string) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "part\twhat\tfigure\t")
	for _, r := range results {
		verdict := "kept"
		if !r.Kept {
			verdict = "NOT KEPT"
		}
		figure, _, _ := strings.Cut(r.Figure, "\n")
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", r.Part, r.What, figure, verdict)
	}
	text, err := json.MarshalIndent(results, "", "  ")
	return errors.Join(table.Flush(), err, os.WriteFile(file, text, 0o600))
}

func TestProofsPage_EveryPart(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/proofs.md")
	check(t, err)
	_, section, _ := strings.Cut(string(text), "| part | what is promised")
	section, _, _ = strings.Cut(section, "\n\n")
	var described []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|.*\\|.*\\|$").FindAllStringSubmatch(section, -1) {
		described = append(described, row[1])
	}
	if diff := cmp.Diff(partNames(), described); diff != "" {
		t.Errorf("parts and docs/proofs.md differ (-parts +docs):\n%s", diff)
	}
}
