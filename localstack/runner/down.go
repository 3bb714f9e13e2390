package runner

import (
	"errors"
	"fmt"
	"os"
	"time"
)

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

// remove stops the stack and deletes its state.
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
		return errors.New("the stack is running on other ports: run `make down` first, or use the same ports")
	}
	return nil
}
