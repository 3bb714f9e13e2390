package prove

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"testing"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/localstack/lab/badinput"
	"campaign-dispatch/localstack/stackenv"
)

// badInput fuzzes every parser for FUZZ_TIME in all, and calls the API for
// SCHEMATHESIS_TIME.
func badInput(ctx context.Context, t *testing.T, env stackenv.Env) {
	t.Helper()
	fuzzParsers(ctx, t, durationOf(t, "FUZZ_TIME", "10m"))
	credential, err := adminOf(env).CreateCredential(ctx, env["TENANT"], "bad input", "", account.Scopes...)
	check(t, err)
	env = maps.Clone(env)
	env["CLIENT_ID"], env["CLIENT_SECRET"] = credential.ClientID, credential.Secret
	answers, err := badinput.CallAll(ctx, env, durationOf(t, "SCHEMATHESIS_TIME", "2m"))
	figure := fmt.Sprintf("%d answers, all as documented: %v", answers.Total(), answers)
	if err != nil {
		figure = err.Error()
	}
	record(t, err == nil && answers[200] > 0 && answers[202] > 0, "every operation of the OpenAPI document called by Schemathesis", figure)
}

func fuzzParsers(ctx context.Context, t *testing.T, all time.Duration) {
	t.Helper()
	tests, err := badinput.FuzzTests("internal")
	check(t, err)
	total, failures := 0, error(nil)
	for _, test := range tests {
		inputs, err := test.Run(ctx, all/time.Duration(len(tests)))
		total, failures = total+inputs, errors.Join(failures, err)
	}
	figure := fmt.Sprintf("%d inputs, none broke anything", total)
	if failures != nil {
		figure = failures.Error()
	}
	record(t, failures == nil && total > 0, fmt.Sprintf("%d parsers fuzzed for %s in all", len(tests), all), figure)
}

func durationOf(t *testing.T, variable, otherwise string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(cmp.Or(os.Getenv(variable), otherwise))
	check(t, err)
	return d
}
