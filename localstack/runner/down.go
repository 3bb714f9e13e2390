package runner

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// Down stops everything and forgets everything but the tools.
func (s Stack) Down() error {
	step := s.Log.Step("down")
	ran := s.running() || holder(s.state(emulatorLock)) != 0
	if err := s.forget(); err != nil {
		return err
	}
	if !ran {
		step.Done("nothing was running")
		return nil
	}
	step.Done("stopped, and forgot everything in %s", s.Dir)
	return nil
}

// clear makes room for a new stack.
func (s Stack) clear() error {
	if err := s.forget(); err != nil {
		return err
	}
	if err := os.MkdirAll(s.state(), 0o700); err != nil {
		return fmt.Errorf("make the stack's folder: %w", err)
	}
	return nil
}

// forget stops what runs, and removes its state.
func (s Stack) forget() error {
	if err := s.stop(); err != nil {
		return err
	}
	for _, path := range []string{s.EnvFile(), s.state()} {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("forget the stack: %w", err)
		}
	}
	return nil
}

// stop ends the background process, and the emulator with its functions even
// where the background process died without doing so.
func (s Stack) stop() error {
	const patience = 5 * time.Second
	return errors.Join(
		end(s.state(daemonLock), 1, patience),
		end(s.state(emulatorLock), wholeGroup, patience),
	)
}

// samePorts fails if the running stack listens on other ports than this one.
func (s Stack) samePorts() error {
	ports, _ := os.ReadFile(s.state(portsFile))
	if string(ports) != fmt.Sprint(s.Ports) {
		return errors.New("the stack is running on other ports: `make down` first, or give the same ones")
	}
	return nil
}
