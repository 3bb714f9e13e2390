package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A process that may outlive its parent locks a file with its process id until it
// exits. A process id is valid only while the file is locked, so that a signal never
// reaches another process with a reused id.

// errLocked reports that a running process holds the lock.
var errLocked = errors.New("locked")

// lock acquires the lock at path. It returns errLocked if another process holds it.
func lock(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("create the folder of %s: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the developer sets the path
	if err != nil {
		return nil, fmt.Errorf("open a lock: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil {
		_ = f.Close()
		return nil, errLocked
	}
	return f, nil
}

func writePID(f *os.File, pid int) error {
	if err := f.Truncate(0); err != nil {
		return fmt.Errorf("write a process id: %w", err)
	}
	if _, err := f.WriteAt([]byte(strconv.Itoa(pid)), 0); err != nil {
		return fmt.Errorf("write a process id: %w", err)
	}
	return nil
}

// lockOwner returns the id of the process that holds the lock at path, or 0.
func lockOwner(path string) int {
	if _, err := os.Stat(path); err != nil {
		return 0
	}
	f, err := lock(path)
	if err == nil {
		_ = f.Close()
		return 0
	}
	text, _ := os.ReadFile(path) //nolint:gosec // the developer sets the path
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}

// stopOwner sends SIGTERM to the holder of the lock at path and SIGKILL after the grace
// period. It returns when the lock is free. A negative sign signals the whole process
// group.
func stopOwner(path string, sign int, grace time.Duration) error {
	const tick = 20 * time.Millisecond
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		pid := lockOwner(path)
		if pid == 0 {
			return nil
		}
		_ = syscall.Kill(sign*pid, signal) // fails only if the process has exited
		for waited := time.Duration(0); waited < grace; waited += tick {
			if lockOwner(path) == 0 {
				return nil
			}
			time.Sleep(tick)
		}
	}
	return fmt.Errorf("process %d does not exit", lockOwner(path))
}
