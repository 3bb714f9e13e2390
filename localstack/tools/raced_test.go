package tools_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every package that starts a goroutine is raced, but those that the Makefile names. It finds them by their text.
func TestMakeTest_RacedPackages(t *testing.T) {
	t.Parallel()
	unraced := regexp.MustCompile("(" + strings.TrimSpace(output(t, "make", "--eval", `unraced: ; @echo '$(BESIDE)|$(LAST)|$(SIMULATIONS)'`, "unraced")) + ")$")
	raced := strings.Fields(output(t, "make", "--eval", `raced: ; @sh -c "$$RACED"`, "raced", "PACKAGES=./..."))
	for line := range strings.Lines(output(t, "go", "list", "-f", "{{.ImportPath}} {{.Dir}}", "./...")) {
		name, folder, _ := strings.Cut(strings.TrimSpace(line), " ")
		if startsGoroutines(t, folder) && !unraced.MatchString(name) && !slices.Contains(raced, name) {
			t.Errorf("%s starts goroutines and is not raced", name)
		}
	}
	for name, want := range map[string]bool{"internal/webhook": true, "internal/outcome": true, "localstack/sim": false, "localstack/e2e": false, "internal/intake": false, "internal/sweep": false, "localstack/browser": false, "internal/send": true, "internal/send/simulation": false, "internal/campaign/ledger": false, "internal/phone": false} {
		if got := slices.Contains(raced, "campaign-dispatch/"+name); got != want {
			t.Errorf("%s is raced: %t, want %t", name, got, want)
		}
	}
}

// output runs a command in the project's folder.
func output(t *testing.T, name string, arguments ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, arguments...)
	cmd.Dir, cmd.Env = "../..", withoutMake()
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, text)
	}
	return string(text)
}

// startsGoroutines reports whether a file of the folder has a go statement or calls the
// method Go, as of sync.WaitGroup and errgroup.Group.
func startsGoroutines(t *testing.T, folder string) (found bool) {
	t.Helper()
	files, err := filepath.Glob(folder + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				found = true
			case *ast.SelectorExpr:
				found = found || n.Sel.Name == "Go"
			}
			return !found
		})
	}
	return found
}
