package main

import (
	"context"
	"errors"

	"campaign-dispatch/localstack/ownstack"
	"campaign-dispatch/localstack/stackenv"
)

// apart shows a part on a stack of its own, and searches what that has said. Rows by
// the hundred thousand make the emulator slow for everybody after: it reads an index
// by going through the whole table.
func apart(name string, show func(context.Context, stackenv.Env) ([]result, error)) func(context.Context, stackenv.Env) ([]result, error) {
	return func(ctx context.Context, _ stackenv.Env) (results []result, err error) {
		stack, err := ownstack.New(ctx, "campaign-dispatch-"+name, ".local/"+name)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, stack.Down(ctx)) }()
		env, err := stack.Up(ctx)
		if err != nil {
			return nil, err
		}
		if results, err = show(ctx, env); err != nil {
			return results, err
		}
		said, err := searched(ctx, env, name)
		return append(results, said...), err
	}
}
