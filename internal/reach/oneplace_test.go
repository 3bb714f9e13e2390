package reach_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// asks finds code that looks up opt-outs or lists to decide about a message.
var asks = regexp.MustCompile(`\.(OptedOut|KeptBy)\(([\w.]*[cC]tx|[\w.]*Context\(\)), `)

// Only this package decides whether a message is withheld from a person. What decides elsewhere would show, price or
// send something else.
func TestWithheld_OnePlace(t *testing.T) {
	t.Parallel()
	var found []string
	for _, folder := range []string{"../../internal", "../../functions"} {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			code, err := os.ReadFile(path)
			if asks.Match(code) {
				found = append(found, filepath.ToSlash(path))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(found) != 1 || found[0] != "../../internal/reach/withheld.go" {
		t.Errorf("%v look up who is withheld, want internal/reach/withheld.go alone: ask reach.Lookup", found)
	}
}
