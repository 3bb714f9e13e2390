//go:build prove

package prove

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"

	"campaign-dispatch/localstack/stackenv"
)

// TestProve runs the parts that PROVE names, or all, one after the other, and prints
// the table of their results.
func TestProve(t *testing.T) {
	t.Chdir("../../..")
	chosen, err := chosenParts(os.Getenv("PROVE"))
	check(t, err)
	var env stackenv.Env
	if slices.ContainsFunc(chosen, func(p part) bool { return !p.ownStack }) {
		env = stackenv.Load(t)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	for _, p := range chosen { //nolint:paralleltest // the parts measure the machine, one after the other
		if ctx.Err() == nil {
			t.Run(p.name, func(t *testing.T) { p.run(ctx, t, env) })
		}
	}
	if ctx.Err() != nil {
		t.Error("interrupted: make prove PROVE=part runs one part alone")
	}
	check(t, report(os.Stdout, results, strings.TrimSuffix(".local/prove-"+strings.ReplaceAll(os.Getenv("PROVE"), ",", "-"), "-")+".json"))
}

// run adds a line for a part that ends before it has a result.
func (p part) run(ctx context.Context, t *testing.T, env stackenv.Env) {
	t.Helper()
	before := len(results)
	t.Cleanup(func() {
		if t.Failed() && !slices.ContainsFunc(results[before:], func(r result) bool { return !r.Kept }) {
			results = append(results, result{p.name, "the part ended early", "see the test's output", false})
		}
	})
	p.check(ctx, t, env)
}
