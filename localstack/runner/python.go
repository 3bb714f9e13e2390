package runner

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const requirements = "localstack/requirements.txt"

// python installs the emulator into a virtual environment unless the same
// requirements are already installed.
func (s Stack) python(ctx context.Context) error {
	step := s.Log.Step("emulator")
	wanted, err := os.ReadFile(requirements)
	if err != nil {
		return fmt.Errorf("read the emulator's requirements: %w", err)
	}
	sum := sha256.Sum256(wanted)
	digest := hex.EncodeToString(sum[:])
	stamp := filepath.Join(s.venv(), "installed")
	if installed, _ := os.ReadFile(stamp); string(installed) == digest { //nolint:gosec // a file of the stack
		step.Done("installed")
		return nil
	}
	if err := checkPython(ctx); err != nil {
		return err
	}
	if err := os.RemoveAll(s.venv()); err != nil {
		return fmt.Errorf("remove the old Python environment: %w", err)
	}
	if err := s.install(ctx, step, strings.Count(string(wanted), "==")); err != nil {
		return err
	}
	if err := writeFile(stamp, digest); err != nil {
		return err
	}
	step.Done("installed into %s", s.venv())
	return nil
}

func (s Stack) venv() string { return filepath.Join(s.Tools, "venv") }

func checkPython(ctx context.Context) error {
	const needed = "the local stack needs Python 3.10 or newer with venv"
	if _, err := exec.LookPath("python3"); err != nil {
		return errors.New("python3 is not on the PATH: " + needed)
	}
	const probe = `import sys
if sys.version_info < (3, 10): sys.exit("python3 is version %d.%d" % sys.version_info[:2])
try: import venv, ensurepip
except ImportError as e: sys.exit("python3 has no %s module (Debian: apt install python3-venv)" % e.name)`
	out, err := exec.CommandContext(ctx, "python3", "-c", probe).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %s", lastLine(out), needed)
	}
	return nil
}

// install creates the environment and installs the packages. It reports the progress
// to step.
func (s Stack) install(ctx context.Context, step progressBar, packages int) error {
	step.Bar(0, packages, "creating a Python environment")
	if out, err := exec.CommandContext(ctx, "python3", "-m", "venv", s.venv()).CombinedOutput(); err != nil { //nolint:gosec // a path of the stack
		return fmt.Errorf("create a Python environment: %w: %s", err, lastLine(out))
	}
	pip := exec.CommandContext(ctx, filepath.Join(s.venv(), "bin", "python"), "-m", "pip", "install", //nolint:gosec // a path of the stack
		"--disable-pip-version-check", "--no-input", "--progress-bar", "off",
		"--no-deps", "--require-hashes", "-r", requirements)
	var problems strings.Builder
	pip.Stderr = &problems
	stdout, err := pip.StdoutPipe()
	if err != nil {
		return fmt.Errorf("install the emulator: %w", err)
	}
	if err := pip.Start(); err != nil {
		return fmt.Errorf("install the emulator: %w", err)
	}
	done := 0
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		switch name, ok := strings.CutPrefix(lines.Text(), "Collecting "); {
		case ok:
			name, _, _ = strings.Cut(name, "==")
			step.Bar(done, packages, name)
			done++
		case strings.HasPrefix(lines.Text(), "Installing"):
			step.Bar(packages, packages, "unpacking")
		}
	}
	if err := pip.Wait(); err != nil {
		return fmt.Errorf("install the emulator: %w: %s", err, lastLine([]byte(problems.String())))
	}
	return nil
}

// progressBar displays the progress of the installation.
type progressBar interface {
	Bar(done, total int, note string)
}

// lastLine returns the last line of a command's output that is not blank. It usually
// has the error.
func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
