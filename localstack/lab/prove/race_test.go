package prove

import (
	"context"
	"testing"

	"campaign-dispatch/localstack/stackenv"
)

// raced is the flag of the race detector.
const raced = "-race"

// race runs with the race detector the tests of code with shared state that `make test` runs without it, but the
// simulation of sending, whose code the tests of send race.
func race(ctx context.Context, t *testing.T, env stackenv.Env) {
	t.Helper()
	recordTests(ctx, t, env, "%d tests with the race detector", []string{
		raced, "./internal/sweep", "./internal/intake", "./internal/dashboard/signin", "./localstack/sim", "./localstack/lab/faultproxy",
	})
}
