//go:build prove

package prove

import (
	"context"
	"testing"

	"campaign-dispatch/localstack/stackenv"
)

// journey runs the browser test of a marketing person's way, with 10,000 people.
func journey(ctx context.Context, t *testing.T, env stackenv.Env) {
	t.Helper()
	recordTests(ctx, t, env, "%d walk in a browser from an empty tenant to a campaign of 10,000", []string{"./localstack/browser", "-run", "^TestJourney$"})
}
