package main

import (
	"context"
	"strings"
	"time"

	"campaign-dispatch/internal/admin"
	"campaign-dispatch/localstack/clients"
	"campaign-dispatch/localstack/stackenv"
)

// realClients tries the OAuth libraries and the generated clients that people use.
func realClients(ctx context.Context, env stackenv.Env) (results []result, err error) {
	trial := clients.Trial{Env: env, Below: ".local/clients", Service: &admin.Service{Store: storeOf(env), Now: time.Now}}
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
