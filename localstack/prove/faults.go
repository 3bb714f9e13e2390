package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"campaign-dispatch/localstack/faultproxy"
	"campaign-dispatch/localstack/faultproxy/ordeal"
	"campaign-dispatch/localstack/stackenv"
)

// faults lets one call of AWS after the other go wrong, on a stack of its own.
// FAULTS_EVERY=20 tries every 20th fault, FAULTS_ONLY=word those whose name has it.
func faults(ctx context.Context, _ stackenv.Env) ([]result, error) {
	every, _ := strconv.Atoi(os.Getenv("FAULTS_EVERY"))
	var said []result
	report, err := ordeal.Run(ctx, ordeal.Plan{
		Every: every, Only: os.Getenv("FAULTS_ONLY"), Log: os.Stderr,
		After: func(ctx context.Context, env stackenv.Env) (err error) {
			said, err = searched(ctx, env, "faults")
			return err
		},
	})
	functions := map[string]bool{}
	for _, c := range report.Calls {
		functions[c.Function] = true
	}
	results := []result{{
		Part: "faults", What: fmt.Sprintf("the calls of AWS that %d functions make", len(functions)),
		Figure: fmt.Sprintf("%d, and of nobody known: %v", len(report.Calls), report.Strangers),
		Kept:   len(report.Calls) > 0 && len(report.Strangers) == 0,
	}}
	for _, kind := range faultproxy.Kinds() {
		if r, some := faultsOf(kind, report.Outcomes); some {
			results = append(results, r)
		}
	}
	return append(results, said...), err
}

func faultsOf(kind faultproxy.Kind, outcomes []ordeal.Outcome) (r result, some bool) {
	tried, kept, missed := 0, 0, 0
	var told []string
	for _, o := range outcomes {
		if o.Fault.Kind != kind {
			continue
		}
		tried++
		switch {
		case o.Trouble == nil && o.Met:
			kept++
		case o.Trouble == nil && o.Wake:
			missed++
		default:
			told = append(told, o.String())
		}
	}
	return result{
		Part: "faults", What: fmt.Sprintf("%d calls in turn: %s", tried, kind),
		Figure: fmt.Sprintf("%d times nothing lost, nothing twice, every answer as it should be; %d met none of the calls that only other faults lead to\n%s",
			kept, missed, strings.Join(told, "\n")),
		Kept: kept+missed == tried && kept > 0,
	}, tried > 0
}
