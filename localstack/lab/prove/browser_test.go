package prove

import (
	"context"
	"testing"

	"campaign-dispatch/localstack/stackenv"
)

// browser runs the tests of the dashboard in a browser, with all windows in all schemes, and a
// campaign of 10,000 people.
func browser(ctx context.Context, t *testing.T, env stackenv.Env) {
	t.Helper()
	recordTests(ctx, t, env, "%d tests of the dashboard in a browser", []string{"./localstack/browser", "-parallel", "4"})
}
