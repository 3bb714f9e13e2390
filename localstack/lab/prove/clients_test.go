package prove

import (
	"context"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/app/settingsstore"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/settings"
	"campaign-dispatch/localstack/lab/clients"
	"campaign-dispatch/localstack/stackenv"
)

// realClients tries the OAuth libraries and the generated clients that people use.
func realClients(ctx context.Context, t *testing.T, env stackenv.Env) {
	t.Helper()
	store := storeOf(env)
	service := &settings.Service{Store: settingsstore.New(dynamo.New(store.Tables())), Auth: dynamo.NewAuthStore(store.Tables()), Now: time.Now}
	trial := clients.Trial{Env: env, Below: ".local/clients", Service: service}
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
