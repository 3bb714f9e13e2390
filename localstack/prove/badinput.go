package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"campaign-dispatch/localstack/badinput"
	"campaign-dispatch/localstack/stackenv"
)

// How long there is fuzzing in all, and how long the API is called; FUZZ_TIME and
// SCHEMATHESIS_TIME are others, such as 30s.
const (
	fuzzTime = "10m"
	callTime = "2m"
)

// badInput shows that nothing breaks whatever is sent.
func badInput(ctx context.Context, env stackenv.Env) ([]result, error) {
	fuzzed, fuzzErr := fuzz(ctx)
	called, callErr := callAll(ctx, env)
	return []result{fuzzed, called}, errors.Join(fuzzErr, callErr)
}

func fuzz(ctx context.Context) (result, error) {
	r := result{Part: "bad-input"}
	tests, err := badinput.FuzzTests("internal")
	if err != nil {
		return r, err
	}
	all, err := duration("FUZZ_TIME", fuzzTime)
	if err != nil {
		return r, err
	}
	if len(tests) == 0 {
		return r, errors.New("there is nothing to fuzz")
	}
	total, failures := 0, error(nil)
	for _, t := range tests {
		inputs, err := t.Run(ctx, all/time.Duration(len(tests)))
		total, failures = total+inputs, errors.Join(failures, err)
	}
	r.What = fmt.Sprintf("%d parsers fuzzed for %s in all", len(tests), all)
	r.Figure, r.Kept = fmt.Sprintf("%d inputs, none broke anything", total), failures == nil
	if failures != nil {
		r.Figure = failures.Error()
	}
	return r, nil
}

func callAll(ctx context.Context, env stackenv.Env) (result, error) {
	r := result{Part: "bad-input", What: "every operation of the OpenAPI document called by Schemathesis"}
	d, err := duration("SCHEMATHESIS_TIME", callTime)
	if err != nil {
		return r, err
	}
	answers, err := badinput.CallAll(ctx, env, d)
	r.Kept = err == nil && answers[200] > 0 && answers[202] > 0
	r.Figure = fmt.Sprintf("%d answers, all as documented: %v", answers.Total(), answers)
	if err != nil {
		r.Figure = err.Error()
	}
	return r, nil
}

func duration(name, otherwise string) (time.Duration, error) {
	d, err := time.ParseDuration(cmp.Or(os.Getenv(name), otherwise))
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", name, err)
	}
	return d, nil
}
