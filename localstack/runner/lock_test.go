package runner

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func TestLockIsHeldOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a", "lock")
	first, err := lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock(path); !errors.Is(err, errLocked) {
		t.Errorf("the second lock: %v, want errLocked", err)
	}
	_ = first.Close()
	second, err := lock(path)
	if err != nil {
		t.Fatalf("lock what was let go: %v", err)
	}
	_ = second.Close()
}

// A process id that nobody holds the lock for is never acted upon: it may be
// another process's by now.
func TestHolderTrustsOnlyTheLiving(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pid")
	if got := holder(path); got != 0 {
		t.Errorf("holder of a lock that is not there: %d, want 0", got)
	}
	held, err := lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := writePID(held, 4321); err != nil {
		t.Fatal(err)
	}
	if got := holder(path); got != 4321 {
		t.Errorf("holder while it lives: %d, want 4321", got)
	}
	_ = held.Close()
	if got := holder(path); got != 0 {
		t.Errorf("holder after its end: %d, want 0", got)
	}
}

func TestEndStopsTheHolder(t *testing.T) {
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
	_ = held.Close() // the process keeps it
	if err := end(path, 1, time.Minute); err != nil {
		t.Fatal(err)
	}
	if got := holder(path); got != 0 {
		t.Errorf("process %d still holds the lock", got)
	}
	if err := process.Wait(); err == nil {
		t.Error("the process ended by itself")
	}
}
