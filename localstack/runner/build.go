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

// build compiles every function for this machine and returns the packages.
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
	if err := compile(ctx, dir, step.Note); err != nil {
		return nil, err
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
