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

// Every queue that operations.md names has dead letters that the operator's command moves.
func TestRunbook_Queues(t *testing.T) {
	t.Parallel()
	const command = root + "/internal/operator/command/sending.go"
	known := regexp.MustCompile(`return \[\]string\{("release", [^}]+)\}`).FindStringSubmatch(read(t, command))
	if known == nil {
		t.Fatalf("%s lists no queues", command)
	}
	named := regexp.MustCompile(`QUEUE=([a-z-]+)`).FindAllStringSubmatch(read(t, "operations.md"), -1)
	if len(named) < 7 {
		t.Errorf("operations.md names %d queues, want 7 or more", len(named))
	}
	for _, queue := range named {
		if !strings.Contains(known[1], `"`+queue[1]+`"`) {
			t.Errorf("no queue %s: want one of %s", queue[1], known[1])
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
