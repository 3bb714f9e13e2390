package docs_test

import (
	"os"
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

// The picture of architecture.md, and the table below it, name every room: a folder of internal. What they name exists.
func TestArchitecture_EveryRoom(t *testing.T) {
	t.Parallel()
	_, section, _ := strings.Cut(read(t, "architecture.md"), "\n## A message through the rooms\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var named []string
	for _, match := range regexp.MustCompile(`\[{1,2}"([a-z/, ]+):|\{{2}"([a-z]+):`).FindAllStringSubmatch(section, -1) {
		for room := range strings.SplitSeq(match[1]+match[2], ", ") {
			named = append(named, strings.Split(room, "/")[0])
			if _, err := os.Stat(filepath.Join(root, "internal", room)); err != nil {
				t.Errorf("the picture names %s, which is no folder of internal", room)
			}
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[a-z`, ]+) \\|").FindAllStringSubmatch(section, -1) {
		for _, room := range code.FindAllStringSubmatch(row[1], -1) {
			named = append(named, room[1])
		}
	}
	slices.Sort(named)
	if diff := cmp.Diff(rooms(t), slices.Compact(named)); diff != "" {
		t.Errorf("the folders of internal and the rooms in architecture.md differ (-folders +page):\n%s", diff)
	}
}

// rooms returns the folders of internal, in order.
func rooms(t *testing.T) (names []string) {
	t.Helper()
	folders, err := os.ReadDir(filepath.Join(root, "internal"))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		names = append(names, folder.Name())
	}
	return names
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
