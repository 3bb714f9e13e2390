package docs_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The table of development.md lists every package, except those that help tests.
func TestLayout_EveryPackage(t *testing.T) {
	t.Parallel()
	_, section, _ := strings.Cut(read(t, "development.md"), "\n## Layout\n")
	var listed []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z/]+)` \\| [^|]+ \\|([^|]*)\\|$").FindAllStringSubmatch(section, -1) {
		listed = append(listed, row[1])
		for _, inside := range code.FindAllStringSubmatch(row[2], -1) {
			listed = append(listed, row[1]+"/"+inside[1])
		}
	}
	packages := packages(t)
	for _, folder := range listed { // a folder that only holds packages
		if slices.ContainsFunc(packages, func(p string) bool { return strings.HasPrefix(p, folder+"/") }) {
			packages = append(packages, folder)
		}
	}
	slices.Sort(listed)
	slices.Sort(packages)
	if diff := cmp.Diff(slices.Compact(packages), listed); diff != "" {
		t.Errorf("packages and the layout in development.md differ (-packages +page):\n%s", diff)
	}
}

// packages returns the folders of the packages that do not help tests.
func packages(t *testing.T) (folders []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "./functions/...", "./internal/...", "./localstack/...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.FieldsSeq(string(out)) {
		if _, folder, _ := strings.Cut(name, "/"); !strings.HasSuffix(filepath.Base(folder), "test") {
			folders = append(folders, folder)
		}
	}
	return folders
}
