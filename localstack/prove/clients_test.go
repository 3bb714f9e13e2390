package prove

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/admin"
	"campaign-dispatch/localstack/clients"
	"campaign-dispatch/localstack/stackenv"
)

// realClients tries the OAuth libraries and the generated clients that people use.
func realClients(ctx context.Context, t *testing.T, env stackenv.Env) {
	t.Helper()
	trial := clients.Trial{Env: env, Below: ".local/clients", Service: &admin.Service{Store: storeOf(env), Random: rand.Reader, Now: time.Now}}
	for _, c := range clients.All() {
		tried, err := trial.Try(ctx, c)
		check(t, ctx.Err())
		switch {
		case err != nil:
			record(t, false, c.Name, err.Error())
		case len(tried.Faults) > 0:
			record(t, false, tried.Client, strings.Join(tried.Faults, "; "))
		default:
			record(t, true, tried.Client, tried.Done)
		}
	}
}
