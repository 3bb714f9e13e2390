package prove

import (
	"context"
	"fmt"
	mathrand "math/rand/v2"
	"testing"

	"campaign-dispatch/localstack/lab/linearity"
	"campaign-dispatch/localstack/stackenv"
)

func linearizability(ctx context.Context, t *testing.T, env stackenv.Env) {
	t.Helper()
	const histories = 200
	service, err := linearity.OnStack(ctx, env)
	check(t, err)
	r, err := service.Check(ctx, histories, mathrand.New(mathrand.NewPCG(1, 2)))
	check(t, err)
	record(t, r.Histories == histories, fmt.Sprintf("%d histories of %d clients, %d calls", r.Histories, linearity.Clients, r.Calls),
		fmt.Sprintf("%d accepted, %d without an answer, each history has an order", r.Accepted, r.Unknown))
}
