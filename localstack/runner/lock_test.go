package runner

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func TestLock_Held(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a", "lock")
	first, err := lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock(path); !errors.Is(err, errLocked) {
		t.Errorf("second lock: got %v, want errLocked", err)
	}
	_ = first.Close()
	second, err := lock(path)
	if err != nil {
		t.Fatalf("lock after release: %v", err)
	}
	_ = second.Close()
}

// A process id in an unlocked file may belong to another process.
//
//nolint:paralleltest // a process that another test starts has the lock for a moment
func TestHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pid")
	if got := lockOwner(path); got != 0 {
		t.Errorf("owner of a missing file: got %d, want 0", got)
	}
	held, err := lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := writePID(held, 4321); err != nil {
		t.Fatal(err)
	}
	if got := lockOwner(path); got != 4321 {
		t.Errorf("owner of a locked file: got %d, want 4321", got)
	}
	_ = held.Close()
	if got := lockOwner(path); got != 0 {
		t.Errorf("owner of an unlocked file: got %d, want 0", got)
	}
}

func TestEnd(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pid")
	held, err := lock(path)
	if err != nil {
		t.Fatal(err)
	}
	process := exec.CommandContext(t.Context(), "sleep", "60")
	process.ExtraFiles = []*os.File{held}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	if err := writePID(held, process.Process.Pid); err != nil {
		t.Fatal(err)
	}
	_ = held.Close() // the process's copy keeps the lock
	if err := stopOwner(path, 1, time.Minute); err != nil {
		t.Fatal(err)
	}
	if got := lockOwner(path); got != 0 {
		t.Errorf("process %d still holds the lock", got)
	}
	if err := process.Wait(); err == nil {
		t.Error("the process exited without a signal")
	}
}
