// Package ephemeralstack starts local stacks for one measurement or proof each, on free ports.
package ephemeralstack

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"campaign-dispatch/localstack/stackenv"
)

// Stack is a local stack. Up starts it.
type Stack struct {
	Name string // of the CloudFormation stack
	Dir  string // its state
	Root string // the project's folder, "" for the current one

	ports []string
	flags []string
}

// New finds ports for a stack.
func New(ctx context.Context, name, dir string) (*Stack, error) {
	ports, err := Ports(ctx, 4)
	return &Stack{Name: name, Dir: dir, ports: ports}, err
}

// AWS is the address of the emulator.
func (s *Stack) AWS() *url.URL {
	return &url.URL{Scheme: "http", Host: net.JoinHostPort("127.0.0.1", s.ports[1])}
}

// Up starts the stack with additional flags of the local stack, and returns its addresses.
func (s *Stack) Up(ctx context.Context, flags ...string) (stackenv.Env, error) {
	s.flags = flags
	if err := s.build(ctx); err != nil {
		return nil, err
	}
	if err := s.command(ctx, "down"); err != nil {
		return nil, err
	}
	return s.Redeploy(ctx)
}

// Upgrade makes the current folder the one from which the running stack is deployed again.
func (s *Stack) Upgrade(ctx context.Context) error {
	s.Dir, s.Root = filepath.Join(s.Root, s.Dir), ""
	return s.build(ctx)
}

func (s *Stack) build(ctx context.Context) error {
	build := exec.CommandContext(ctx, "go", "build", "-o", s.program(), "./localstack") //nolint:gosec // our own program
	build.Dir = s.Root
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the local stack: %w\n%s", err, out)
	}
	return nil
}

// Redeploy deploys a running stack again, with additional flags.
func (s *Stack) Redeploy(ctx context.Context, flags ...string) (stackenv.Env, error) {
	if err := s.command(ctx, append(flags, "up")...); err != nil {
		return nil, err
	}
	return stackenv.Read(filepath.Join(s.Root, s.Dir, "stack.env"))
}

// Down stops the stack and deletes its data, even if ctx has ended.
func (s *Stack) Down(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(s.Root, s.program())); err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return s.command(ctx, "down")
}

func (s *Stack) program() string { return s.Dir + "-localstack" }

func (s *Stack) command(ctx context.Context, arguments ...string) error {
	own := []string{
		"--brief", "--dir", s.Dir, "--name", s.Name,
		"--port", s.ports[0], "--aws-port", s.ports[1], "--rcs-port", s.ports[2], "--sink-port", s.ports[3],
		"--parameter", "TenantDispatchRate=10000", "--parameter", "TenantDispatchBurst=100000",
		"--parameter", "TenantReadRate=0", // as NO_TENANT_LIMIT in the Makefile
	}
	command := exec.CommandContext(ctx, s.program(), slices.Concat(own, s.flags, arguments)...) //nolint:gosec // our own program
	command.Dir = s.Root
	out, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("bring the stack %s %s: %w\n%s", s.Name, arguments[len(arguments)-1], err, out)
	}
	return nil
}

const (
	// Ports tries the ports from lowest up to beyond. Linux and macOS give connections
	// ports from 32768 on: such a port may be taken before a stack listens there.
	lowest, beyond = 20_000, 32_768
	// portTries is how many taken ports are skipped.
	portTries = 100
)

// Ports returns n free ports of 127.0.0.1, all below the ports of connections.
func Ports(ctx context.Context, n int) (ports []string, err error) {
	var held []net.Listener // until all are found
	defer func() {
		for _, l := range held {
			_ = l.Close()
		}
	}()
	for taken := 0; len(ports) < n && taken < portTries; {
		port := strconv.Itoa(lowest + rand.IntN(beyond-lowest)) //nolint:gosec // a port is no secret
		var l net.Listener
		if l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", port)); err != nil {
			taken++
			continue
		}
		held, ports = append(held, l), append(ports, port)
	}
	if len(ports) < n {
		return nil, fmt.Errorf("find a port: %w", err)
	}
	return ports, nil
}
