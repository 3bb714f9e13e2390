package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// An operator searches the logs for the messages that the runbook quotes.
func TestRunbook_QuotedLogMessages(t *testing.T) {
	t.Parallel()
	_, runbook, ok := strings.Cut(read(t, "operations.md"), "\n## Runbook\n")
	if !ok {
		t.Fatal("operations.md has no runbook")
	}
	quoted := regexp.MustCompile(`"([a-z][^"\n]+)"`).FindAllStringSubmatch(runbook, -1)
	if len(quoted) < 5 {
		t.Fatalf("the runbook quotes %d log messages", len(quoted))
	}
	code := sources(t)
	for _, q := range quoted {
		if !strings.Contains(code, q[1]) {
			t.Errorf("the code logs no %q", q[1])
		}
	}
}

// sources returns the Go code of internal, tests left out.
func sources(t *testing.T) string {
	t.Helper()
	var code strings.Builder
	err := filepath.WalkDir(filepath.Join(root, "internal"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		code.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return code.String()
}
