package prove

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A renamed test would leave a function without its uses, and each statement of its role
// would look unneeded.
func TestUses_Exist(t *testing.T) {
	t.Parallel()
	var source strings.Builder
	for _, folder := range []string{"../e2e", "../browser"} {
		files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			source.Write(text)
		}
	}
	for function, names := range uses {
		for name := range strings.SplitSeq(names, "|") {
			if !strings.Contains(source.String(), "\nfunc "+name) {
				t.Errorf("%s: there is no test %s", function, name)
			}
		}
	}
}
