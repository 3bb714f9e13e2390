package main

import (
	"context"
	"fmt"
	"math"
	"strings"

	"campaign-dispatch/localstack/stackenv"
	"campaign-dispatch/localstack/wronghands"
)

// wrongHands shows that nobody gets, learns or changes what is another's.
func wrongHands(ctx context.Context, env stackenv.Env) (all []result, err error) {
	world, err := wronghands.New(ctx, env)
	if err != nil {
		return nil, err
	}
	for _, try := range []struct {
		where, but string
		run        func(context.Context) (wronghands.Report, error)
	}{
		{"routes of the dashboard", "", world.Dashboard},
		// It ends with the campaign's cancelling.
		{"routes of the OpenAPI document", " but that a template is another tenant's: dispatch's 403", world.API},
	} {
		r, err := try.run(ctx)
		if err != nil {
			return all, fmt.Errorf("%s: %w", try.where, err)
		}
		found := result{
			Part: "wrong-hands", What: fmt.Sprintf("%d %s with %d wrong hands", r.Routes, try.where, r.Hands),
			Figure: fmt.Sprintf("%d tries, nothing passed, nothing showed%s", r.Tries, try.but), Kept: len(r.Wrong) == 0 && r.Tries > 0,
		}
		if !found.Kept {
			found.Figure = fmt.Sprintf("%d of %d tries\n%s", len(r.Wrong), r.Tries, strings.Join(r.Wrong, "\n"))
		}
		all = append(all, found)
	}
	guessed, err := guessing(ctx, world)
	return append(all, guessed), err
}

// guessing shows that nobody learns by guessing which clients there are.
func guessing(ctx context.Context, world *wronghands.World) (result, error) {
	same, err := world.SameRefusal(ctx)
	if err != nil {
		return result{}, err
	}
	t, err := wronghands.ByTiming(ctx)
	return result{
		Part: "wrong-hands",
		What: fmt.Sprintf("%d refusals of the token endpoint in one process, known clients against an unknown one", t.Requests),
		Figure: fmt.Sprintf("medians %s and %s, told apart %.1f %% of the time (50 ± %.0f allowed), the same answer on the stack: %v",
			t.Known, t.Unknown, 100*t.Odds, 100*wronghands.MaxOdds, same),
		Kept: same && math.Abs(t.Odds-0.5) <= wronghands.MaxOdds,
	}, err
}
