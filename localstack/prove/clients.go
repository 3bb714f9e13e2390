package main

import (
	"context"
	"strings"
	"time"

	"campaign-dispatch/internal/admin"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/localstack/clients"
	"campaign-dispatch/localstack/stackenv"
)

// realClients tries the OAuth libraries and the generated clients that people use.
func realClients(ctx context.Context, env stackenv.Env) (results []result, err error) {
	store := storeOf(env)
	service := &admin.Service{Store: store, Auth: dynamo.NewAuthStore(store.Tables), Now: time.Now}
	trial := clients.Trial{Env: env, Below: ".local/clients", Service: service}
	for _, c := range clients.All() {
		tried, err := trial.Try(ctx, c)
		if ctx.Err() != nil {
			return results, ctx.Err()
		}
		line := result{Part: "clients", What: tried.Client, Figure: tried.Done, Kept: err == nil && len(tried.Faults) == 0}
		switch {
		case err != nil:
			line.What, line.Figure = c.Name, err.Error()
		case !line.Kept:
			line.Figure = strings.Join(tried.Faults, "; ")
		}
		results = append(results, line)
	}
	return results, nil
}
