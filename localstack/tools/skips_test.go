package tools_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestMakeTest_SkippedTest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		test, want string
		passes     bool
	}{
		"none":    {"TestRuns", "DONE 1 tests", true},
		"slowest": {"TestRuns", "testdata/skips TestRuns 0s", true},
		"skipped": {"TestSkips", "1 skipped, which counts as failed", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := makeTest(t, "./localstack/tools/testdata/skips", c.test)
			if (err == nil) != c.passes || !strings.Contains(out, c.want) {
				t.Errorf("make test: %v, want success %v and %q:\n%s", err, c.passes, c.want, out)
			}
		})
	}
}

// makeTest runs `make test` without a stack.
func makeTest(t *testing.T, packages, test string) (out string, err error) {
	t.Helper()
	if found, err := filepath.Glob("../../bin/gotestsum-*"); err != nil || len(found) == 0 {
		t.Skip("this test needs gotestsum: run it by `make test`")
	}
	cmd := exec.CommandContext(t.Context(), "make", "-C", "../..", "-o", "bin/localstack", "test", "TEST_STACK=true", "RACE=",
		"TEST_JSON="+t.TempDir()+"/test.json", "PACKAGES="+packages, "TESTFLAGS=-run "+test)
	cmd.Env = withoutMake()
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// withoutMake returns the environment without the variables of an outer make.
func withoutMake() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "MAKE") })
}
