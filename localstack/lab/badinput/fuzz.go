// Package badinput tests the service with invalid input: fuzz tests generate it for
// every parser and Schemathesis for every operation of the API.
package badinput

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// FuzzTest is one of the service's fuzz tests.
type FuzzTest struct {
	Package string // relative to the module, such as ./internal/phone
	Name    string
}

// FuzzTests returns all fuzz tests under a folder of the module.
func FuzzTests(folder string) (tests []FuzzTest, err error) {
	err = filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("find fuzz tests: %w", err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Fuzz") {
				tests = append(tests, FuzzTest{"./" + filepath.ToSlash(filepath.Dir(path)), f.Name.Name})
			}
		}
		return nil
	})
	return tests, err
}

var executions = regexp.MustCompile(`execs: (\d+)`)

// ranOut matches a failure of go test that is not a finding: a worker was still busy at
// the end of the fuzz time.
var ranOut = regexp.MustCompile(`--- FAIL: \w+ \([0-9.]+s\)\n +context deadline exceeded\nFAIL`)

// Run fuzzes for d and returns the number of inputs. The error has the failing input,
// which go test writes to the package's testdata folder.
func (t FuzzTest) Run(ctx context.Context, d time.Duration) (inputs int, err error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-fuzz", "^"+t.Name+"$", "-fuzztime", d.String(), t.Package) //nolint:gosec // tests of the module
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if found := executions.FindAllSubmatch(out.Bytes(), -1); found != nil {
		inputs, _ = strconv.Atoi(string(found[len(found)-1][1])) // the pattern allows digits only
	}
	switch {
	case err != nil && !ranOut.Match(out.Bytes()):
		return inputs, fmt.Errorf("%s of %s: %w\n%s", t.Name, t.Package, err, out.String())
	case inputs == 0:
		return 0, fmt.Errorf("%s of %s executed no inputs:\n%s", t.Name, t.Package, out.String())
	}
	return inputs, nil
}
