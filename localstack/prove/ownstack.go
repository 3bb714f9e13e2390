package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"campaign-dispatch/localstack/faultproxy/ordeal"
	"campaign-dispatch/localstack/stackenv"
)

// ownStack is a local stack of a part's own, which it may deploy again and spoil.
type ownStack struct {
	dir   string
	flags []string
}

const localstack = ".local/localstack-own"

func startOwnStack(ctx context.Context, name string) (*ownStack, error) {
	ports, err := ordeal.FreePorts(ctx, 4)
	if err != nil {
		return nil, err
	}
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", localstack, "./localstack").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the local stack: %w\n%s", err, out)
	}
	s := &ownStack{dir: ".local/" + name}
	s.flags = []string{
		"--brief", "--dir", s.dir, "--name", "campaign-dispatch-" + name,
		"--port", ports[0], "--aws-port", ports[1], "--rcs-port", ports[2], "--sink-port", ports[3],
		"--parameter", "MinLeadSeconds=2", "--parameter", "SweepAfterSeconds=2",
	}
	if err := s.command(ctx, "down"); err != nil {
		return nil, err
	}
	return s, nil
}

// up deploys the stack with more parameters of the template, each NAME=value.
func (s *ownStack) up(ctx context.Context, parameters ...string) (stackenv.Env, error) {
	var flags []string
	for _, p := range parameters {
		flags = append(flags, "--parameter", p)
	}
	if err := s.command(ctx, append(flags, "up")...); err != nil {
		return nil, err
	}
	return stackenv.Read(s.dir + "/stack.env")
}

func (s *ownStack) command(ctx context.Context, arguments ...string) error {
	out, err := exec.CommandContext(ctx, localstack, append(s.flags, arguments...)...).CombinedOutput() //nolint:gosec // our own program
	if err != nil {
		return fmt.Errorf("the local stack: %w\n%s", err, out)
	}
	return nil
}

func (s *ownStack) down(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return s.command(ctx, "down")
}

// operate runs a command of the operator's on a stack.
func operate(ctx context.Context, env stackenv.Env, arguments ...string) error {
	command := exec.CommandContext(ctx, "go", append([]string{"run", "./internal/cmd/admin"}, arguments...)...) //nolint:gosec // our own program
	command.Env = os.Environ()
	for key, value := range env {
		command.Env = append(command.Env, key+"="+value)
	}
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("admin %s: %w\n%s", arguments[0], err, out)
	}
	return nil
}
