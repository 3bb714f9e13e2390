package runner

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Package is a function's deployment package.
type Package struct {
	Name string // name of its folder in functions/
	Key  string // key of its S3 object, with a digest of its content
	Zip  []byte
}

// build compiles every function for this machine, unless it takes those that are there, and returns the packages.
func (s Stack) build(ctx context.Context) ([]Package, error) {
	step := s.Log.Step("functions")
	mains, err := filepath.Glob("functions/*/main.go")
	if err != nil || len(mains) == 0 {
		return nil, errors.New("functions/*/main.go not found: run this command in the project's root folder")
	}
	dir := filepath.Join(s.Tools, "build", runtime.GOARCH)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("create the folder of the built functions: %w", err)
	}
	if !s.Built {
		if err := compile(ctx, dir, step.Note); err != nil {
			return nil, err
		}
	}
	packages := make([]Package, len(mains))
	for i, path := range mains {
		name := filepath.Base(filepath.Dir(path))
		if packages[i], err = pack(dir, name); err != nil {
			return nil, fmt.Errorf("pack the function %s: %w", name, err)
		}
	}
	step.Done("built %d for %s", len(packages), runtime.GOARCH)
	return packages, nil
}

// compile builds all functions with one command, so that shared packages are compiled
// once. It calls note after each package.
func compile(ctx context.Context, dir string, note func(string, ...any)) error {
	build := exec.CommandContext(ctx, "go", "build", "-v", "-trimpath", "-ldflags", "-s -w", //nolint:gosec // a path of the stack
		"-tags", "lambda.norpc", "-o", dir+string(filepath.Separator), "./functions/...")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	stderr, err := build.StderrPipe()
	if err != nil {
		return fmt.Errorf("build the functions: %w", err)
	}
	if err := build.Start(); err != nil {
		return fmt.Errorf("build the functions: %w", err)
	}
	var output []string
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		output = append(output, lines.Text())
		note("%d compiled", len(output))
	}
	if err := build.Wait(); err != nil {
		return fmt.Errorf("build the functions: %s", firstProblem(output))
	}
	return nil
}

// firstProblem returns the first error in the compiler's output.
func firstProblem(lines []string) string {
	for _, line := range lines {
		if strings.Contains(line, ": ") {
			return line
		}
	}
	return strings.Join(lines, " ")
}

func pack(dir, name string) (Package, error) {
	binary, err := os.ReadFile(filepath.Join(dir, name)) //nolint:gosec // a built file
	if err != nil {
		return Package{}, err
	}
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	header := &zip.FileHeader{Name: "bootstrap", Method: zip.Store}
	header.SetMode(0o755)
	w, err := archive.CreateHeader(header)
	if err != nil {
		return Package{}, err
	}
	if _, err := w.Write(binary); err != nil {
		return Package{}, err
	}
	if err := archive.Close(); err != nil {
		return Package{}, err
	}
	sum := sha256.Sum256(b.Bytes())
	return Package{Name: name, Key: name + "-" + hex.EncodeToString(sum[:16]) + ".zip", Zip: b.Bytes()}, nil
}

// Python is a virtual environment with the packages of a requirements file.
type Python struct {
	Dir, Requirements string
}

// Install creates the environment unless the same requirements are already installed. It
// calls progress with the numbers of installed and of all packages.
func (p Python) Install(ctx context.Context, progress func(done, packages int, note string)) error {
	wanted, err := os.ReadFile(p.Requirements)
	if err != nil {
		return fmt.Errorf("read the requirements: %w", err)
	}
	sum := sha256.Sum256(wanted)
	return Installed(p.Dir, hex.EncodeToString(sum[:]), func() error {
		if err := checkPython(ctx); err != nil {
			return err
		}
		return p.install(ctx, progress, strings.Count(string(wanted), "=="))
	})
}

// Installed replaces a folder by an installation, unless it has the one with a digest.
func Installed(dir, digest string, install func() error) error {
	stamp := filepath.Join(dir, "installed")
	if installed, _ := os.ReadFile(stamp); string(installed) == digest { //nolint:gosec // a file of the project
		return nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove the old installation: %w", err)
	}
	if err := install(); err != nil {
		return err
	}
	return writeFile(stamp, digest)
}

// python installs the emulator.
func (s Stack) python(ctx context.Context) error {
	step := s.Log.Step("emulator")
	if err := (Python{s.venv(), "localstack/requirements.txt"}).Install(ctx, step.Bar); err != nil {
		return fmt.Errorf("install the emulator: %w", err)
	}
	step.Done("installed in %s", s.venv())
	return nil
}

func (s Stack) venv() string { return filepath.Join(s.Tools, "venv") }

func checkPython(ctx context.Context) error {
	const needed = "this command needs Python 3.10 or newer with venv"
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

// install creates the environment and installs the packages.
func (p Python) install(ctx context.Context, progress func(done, packages int, note string), packages int) error {
	progress(0, packages, "creating a Python environment")
	create := exec.CommandContext(ctx, "python3", "-m", "venv", p.Dir) //nolint:gosec // a path of the stack
	if out, err := create.CombinedOutput(); err != nil {
		return fmt.Errorf("create a Python environment: %w: %s", err, lastLine(out))
	}
	pip := exec.CommandContext(ctx, filepath.Join(p.Dir, "bin", "python"), "-m", "pip", "install", //nolint:gosec // a path of the stack
		"--disable-pip-version-check", "--no-input", "--progress-bar", "off",
		"--no-deps", "--require-hashes", "-r", p.Requirements)
	var problems strings.Builder
	pip.Stderr = &problems
	stdout, err := pip.StdoutPipe()
	if err != nil {
		return fmt.Errorf("run pip: %w", err)
	}
	if err := pip.Start(); err != nil {
		return fmt.Errorf("run pip: %w", err)
	}
	done := 0
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		switch name, ok := strings.CutPrefix(lines.Text(), "Collecting "); {
		case ok:
			name, _, _ = strings.Cut(name, "==")
			progress(done, packages, name)
			done++
		case strings.HasPrefix(lines.Text(), "Installing"):
			progress(packages, packages, "unpacking")
		}
	}
	if err := pip.Wait(); err != nil {
		return fmt.Errorf("run pip: %w: %s", err, lastLine([]byte(problems.String())))
	}
	return nil
}

// lastLine returns the last line of a command's output that is not blank. It usually has the error.
func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
