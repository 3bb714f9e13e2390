package main

import (
	"context"
	"fmt"
	mathrand "math/rand/v2"

	"campaign-dispatch/localstack/linearity"
	"campaign-dispatch/localstack/stackenv"
)

const histories = 200

func linearizability(ctx context.Context, env stackenv.Env) ([]result, error) {
	service, err := linearity.OnStack(ctx, env)
	if err != nil {
		return nil, err
	}
	r, err := service.Check(ctx, histories, mathrand.New(mathrand.NewPCG(1, 2))) //nolint:gosec // the same calls in every run
	return []result{{
		Part: "linearizability",
		What: fmt.Sprintf("%d histories of %d clients, %d calls", r.Histories, linearity.Clients, r.Calls),
		Figure: fmt.Sprintf("%d accepted, %d without an answer, each history has an order",
			r.Accepted, r.Unknown),
		Kept: err == nil && r.Histories == histories,
	}}, err
}
