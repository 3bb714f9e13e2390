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

// A process that may outlive its parent holds a lock on a file with its id for
// as long as it lives. So an id is only ever trusted, and killed, while the
// process that wrote it is alive.

// errLocked says that a living process holds the lock.
var errLocked = errors.New("locked")

// lock takes the lock at path, or fails with errLocked.
func lock(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of %s: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the path is the developer's own
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

// writePID tells others whom to end.
func writePID(f *os.File, pid int) error {
	if err := f.Truncate(0); err != nil {
		return fmt.Errorf("write a process id: %w", err)
	}
	if _, err := f.WriteAt([]byte(strconv.Itoa(pid)), 0); err != nil {
		return fmt.Errorf("write a process id: %w", err)
	}
	return nil
}

// holder returns the id of the living process that holds the lock at path, or
// 0 if there is none.
func holder(path string) int {
	if _, err := os.Stat(path); err != nil {
		return 0
	}
	f, err := lock(path)
	if err == nil {
		_ = f.Close()
		return 0
	}
	text, _ := os.ReadFile(path) //nolint:gosec // the path is the developer's own
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}

// end asks the holder of the lock at path to end, insists after the patience
// is over, and returns when it is gone. A negative sign ends its whole process
// group.
func end(path string, sign int, patience time.Duration) error {
	const tick = 20 * time.Millisecond
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		pid := holder(path)
		if pid == 0 {
			return nil
		}
		_ = syscall.Kill(sign*pid, signal) // gone already is as good
		for waited := time.Duration(0); waited < patience; waited += tick {
			if holder(path) == 0 {
				return nil
			}
			time.Sleep(tick)
		}
	}
	return fmt.Errorf("process %d does not end", holder(path))
}
