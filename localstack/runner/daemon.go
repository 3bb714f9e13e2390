package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// The background process holds daemonLock, the emulator emulatorLock, for as
// long as they live.
const (
	daemonLock   = "daemon.pid"
	emulatorLock = "emulator.pid"
	readyFD      = 3
)

// running reports whether the background process of the stack lives.
func (s Stack) running() bool { return holder(s.state(daemonLock)) != 0 }

// whole reports whether the stack runs and was once deployed and seeded. What an
// interrupted command left is not.
func (s Stack) whole() bool {
	for _, path := range []string{s.state(portsFile), s.state(deployedFile), s.EnvFile()} {
		if _, err := os.Stat(path); err != nil {
			return false
		}
	}
	return s.running()
}

// spawn starts the background process and waits until it serves. Arguments are
// those of the command that makes this program call Serve.
func (s Stack) spawn(ctx context.Context, arguments []string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	log, err := os.OpenFile(s.state("daemon.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of the background process: %w", err)
	}
	defer func() { _ = log.Close() }()
	said, say, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make a pipe: %w", err)
	}
	defer func() { _ = said.Close() }()
	daemon := exec.Command(self, arguments...) //nolint:gosec,noctx // this very program, which outlives us
	daemon.Stdout, daemon.Stderr, daemon.ExtraFiles = log, log, []*os.File{say}
	daemon.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = daemon.Start()
	_ = say.Close()
	if err != nil {
		return fmt.Errorf("start the background process: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = said.Close() })
	defer stop()
	if text, _ := io.ReadAll(said); string(text) != ready {
		return fmt.Errorf("start the background process: %s", orElse(string(text), "it ended, see "+s.state("daemon.log")))
	}
	return nil
}

const ready = "ready"

func orElse(text, otherwise string) string {
	if text = strings.TrimSpace(text); text == "" {
		return otherwise
	}
	return text
}

// Serve is the background process: it listens on the stack's ports, runs the
// emulator, tells whoever spawned it how that went, and goes on until ctx or
// the emulator ends.
func (s Stack) Serve(ctx context.Context) error {
	said := os.NewFile(readyFD, "ready")
	defer func() { _ = said.Close() }()
	err := s.serve(ctx, func() {
		_, _ = said.WriteString(ready)
		_ = said.Close()
	})
	if err != nil {
		_, _ = said.WriteString(err.Error())
	}
	return err
}

func (s Stack) serve(ctx context.Context, ready func()) error {
	held, err := lock(s.state(daemonLock))
	if err != nil {
		return fmt.Errorf("take the stack's lock: %w", err)
	}
	defer func() { _ = held.Close() }()
	if err := writePID(held, os.Getpid()); err != nil {
		return err
	}
	stop, err := s.listen(ctx)
	if err != nil {
		return err
	}
	defer stop()
	emulator, err := s.startEmulator(ctx)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- emulator.Wait() }()
	defer func() { _ = end(s.state(emulatorLock), wholeGroup, 2*time.Second) }()
	if err := s.awaitHealth(ctx, ended); err != nil {
		return err
	}
	ready()
	select {
	case <-ctx.Done():
		return nil
	case err := <-ended:
		return fmt.Errorf("the emulator ended: %w", errors.Join(err, errors.New("see "+s.state("emulator.log"))))
	}
}

// listen serves the service's address, the simulator and the sink.
func (s Stack) listen(ctx context.Context) (stop func(), err error) {
	provider, err := s.simulator()
	if err != nil {
		return nil, err
	}
	sink, err := s.sink()
	if err != nil {
		return nil, err
	}
	var servers []*http.Server
	stop = func() {
		for _, server := range servers {
			_ = server.Close()
		}
	}
	for port, handler := range map[int]http.Handler{s.Ports.Base: s.proxy(), s.Ports.RCS: provider, s.Ports.Sink: sink} {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address(port))
		if err != nil {
			stop()
			return nil, fmt.Errorf("listen on port %d: %w", port, err)
		}
		server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
		servers = append(servers, server)
		go func() { _ = server.Serve(listener) }()
	}
	return stop, nil
}
