package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/localstack/seed"
	"campaign-dispatch/localstack/stackenv"
)

// Up starts the stack unless it runs, deploys changes, adds test data to a new stack,
// and returns its stack.env. It replaces an incomplete stack. If it fails to create a
// stack, it stops it. The daemon arguments make this program call Serve.
func (s Stack) Up(ctx context.Context, daemon []string) (stackenv.Env, error) {
	held, err := lock(filepath.Join(s.Dir, "up.lock"))
	if errors.Is(err, errLocked) {
		return nil, errors.New("another command is starting this stack")
	} else if err != nil {
		return nil, err
	}
	defer func() { _ = held.Close() }()
	fresh := !s.deployedAndSeeded()
	if fresh {
		if err := s.clear(); err != nil {
			return nil, err
		}
		if err := s.Ports.free(); err != nil {
			return nil, err
		}
	} else if err := s.samePorts(); err != nil {
		return nil, err
	}
	env, err := s.bringUp(ctx, fresh, daemon)
	if err != nil && fresh {
		return nil, errors.Join(err, s.stop())
	}
	return env, err
}

func (s Stack) bringUp(ctx context.Context, fresh bool, daemon []string) (stackenv.Env, error) {
	packages, err := s.prepare(ctx)
	if err != nil {
		return nil, err
	}
	s.Parameters, err = s.released(packages)
	if err != nil {
		return nil, err
	}
	template, err := packagedTemplate(packages, s.Parameters)
	if err != nil {
		return nil, err
	}
	if fresh {
		step := s.Log.Step("start")
		if err := s.generateSecrets(); err != nil {
			return nil, err
		}
		if err := s.startDaemon(ctx, daemon); err != nil {
			return nil, err
		}
		if err := writeFile(s.state(portsFile), fmt.Sprint(s.Ports)); err != nil {
			return nil, err
		}
		step.Done("emulator, proxy, provider simulator and webhook sink are running")
	}
	outputs, err := s.deploy(ctx, template, packages)
	if err != nil {
		return nil, err
	}
	return s.seed(ctx, outputs)
}

// prepare installs the emulator and builds the functions concurrently.
func (s Stack) prepare(ctx context.Context) ([]Package, error) {
	held, err := s.lockTools(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = held.Close() }()
	var packages []Package
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.python(ctx) })
	group.Go(func() (err error) {
		packages, err = s.build(ctx)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return packages, nil
}

// lockTools acquires the lock of the tools. It waits while another stack prepares them.
func (s Stack) lockTools(ctx context.Context) (*os.File, error) {
	const tick = 100 * time.Millisecond
	for {
		held, err := lock(filepath.Join(s.Tools, "tools.lock"))
		if !errors.Is(err, errLocked) {
			return held, err
		}
		if err := retry.Sleep(ctx, tick); err != nil {
			return nil, fmt.Errorf("wait for the lock of the tools: %w", err)
		}
	}
}

// seed adds test data to a new stack and writes stack.env. For a seeded stack it keeps
// the credentials and updates the addresses.
func (s Stack) seed(ctx context.Context, outputs map[string]string) (stackenv.Env, error) {
	step := s.Log.Step("seed")
	env := s.addresses(outputs)
	seeder, err := s.seeder(env)
	if err != nil {
		return nil, err
	}
	if before, err := stackenv.Read(s.EnvFile()); err == nil {
		maps.Copy(before, env)
		if err := errors.Join(seeder.Renew(ctx, before), seeder.RegisterWebhooks(ctx)); err != nil {
			return nil, fmt.Errorf("seed the stack: %w", err)
		}
		step.Done("kept the existing data")
		return before, s.writeEnv(before)
	}
	seeded, err := seeder.Run(ctx)
	if err == nil {
		err = seeder.RegisterWebhooks(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("seed the stack: %w", err)
	}
	maps.Copy(env, seeded)
	step.Done("two tenants with agents, credentials and templates")
	return env, s.writeEnv(env)
}

func (s Stack) seeder(env stackenv.Env) (seed.Seeder, error) {
	provider, err := s.simulator()
	if err != nil {
		return seed.Seeder{}, err
	}
	secret, err := s.webhookSecret()
	if err != nil {
		return seed.Seeder{}, err
	}
	return seed.Seeder{Env: env, KeyDocument: provider.KeyDocument, WebhookSecret: secret, Now: s.Now}, nil
}

// Down stops the stack and deletes its state. It keeps the tools.
func (s Stack) Down() error {
	step := s.Log.Step("down")
	ran := s.running() || lockOwner(s.state(emulatorLock)) != 0
	if err := s.remove(); err != nil {
		return err
	}
	if !ran {
		step.Done("nothing was running")
		return nil
	}
	step.Done("stopped the stack and deleted its state in %s", s.Dir)
	return nil
}

// clear stops a previous stack, deletes its state and creates an empty state folder.
func (s Stack) clear() error {
	if err := s.remove(); err != nil {
		return err
	}
	if err := os.MkdirAll(s.state(), 0o700); err != nil {
		return fmt.Errorf("create the stack's folder: %w", err)
	}
	return nil
}

func (s Stack) remove() error {
	if err := s.stop(); err != nil {
		return err
	}
	for _, path := range []string{s.EnvFile(), s.state()} {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("delete the stack's state: %w", err)
		}
	}
	return nil
}

// stop stops the background process, then the emulator and its functions, which may
// still run after a crash of the background process.
func (s Stack) stop() error {
	const grace = 5 * time.Second
	return errors.Join(
		stopOwner(s.state(daemonLock), 1, grace),
		stopOwner(s.state(emulatorLock), processGroup, grace),
	)
}

// samePorts returns an error if the running stack listens on other ports than s.Ports.
func (s Stack) samePorts() error {
	ports, _ := os.ReadFile(s.state(portsFile))
	if string(ports) != fmt.Sprint(s.Ports) {
		return fmt.Errorf("the stack is running on the ports %s: use the same ports, or run `make down` first, which deletes its data", ports)
	}
	return nil
}
