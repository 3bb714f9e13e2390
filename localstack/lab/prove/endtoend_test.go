package prove

import (
	"context"
	"strings"
	"testing"

	"campaign-dispatch/localstack/stackenv"
)

// large are the end-to-end tests that `make test` runs smaller.
var large = []string{"TestExport_Large", "TestSubmission_Large", "TestSend_KilledFunctions", "TestOutcomes_KilledFunctions", "TestSamples_EveryOperation"}

// endToEnd runs the end-to-end tests of large files, killed functions and all samples.
func endToEnd(ctx context.Context, t *testing.T, env stackenv.Env) {
	t.Helper()
	recordTests(ctx, t, env, "%d end-to-end tests at full size", []string{"./localstack/e2e", "-run", "^(" + strings.Join(large, "|") + ")$"})
}
