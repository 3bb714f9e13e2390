package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	code = regexp.MustCompile("`([^`\n]+)`")
	// path matches files by their extensions, and folders of the repository by the first name.
	path = regexp.MustCompile(`^(?:[\w.-]+/)*[\w.-]+\.(?:go|json|md|yaml|html|py|toml|mk|csv)$|` +
		`^(?:internal|functions|localstack|events|docs)/[\w./-]+$`)
)

// Every file and folder that a page names exists. A name may lack the first folders.
func TestPages_Paths(t *testing.T) {
	t.Parallel()
	files, checked := tracked(t), 0
	for _, page := range pages(t) {
		for _, name := range codeWords(read(t, page)) {
			if !path.MatchString(name) || notOurs[name] {
				continue
			}
			checked++
			if !exists(files, strings.TrimSuffix(name, "/")) {
				t.Errorf("%s: no file or folder %s", page, name)
			}
		}
	}
	if checked < 50 {
		t.Errorf("found %d paths, want 50 or more", checked)
	}
}

// notOurs are files that a command writes.
var notOurs = map[string]bool{".local/prove.json": true, ".local/sam-env.json": true, "processed.json": true}

// codeWords returns the words of the code in a text, code blocks left out.
func codeWords(text string) (words []string) {
	for _, match := range code.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		words = append(words, strings.Fields(match[1])...)
	}
	return words
}

// tracked returns the files of the repository, each with a slash before its path.
func tracked(t *testing.T) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for file := range strings.FieldsSeq(string(out)) {
		if _, err := os.Stat(filepath.Join(root, file)); err == nil { // not just deleted
			files = append(files, "/"+file)
		}
	}
	return files
}

func exists(files []string, name string) bool {
	return slices.ContainsFunc(files, func(file string) bool {
		return strings.HasSuffix(file, "/"+name) || strings.Contains(file, "/"+name+"/")
	})
}

// Every make target that a page names exists.
func TestPages_MakeTargets(t *testing.T) {
	t.Parallel()
	targets := map[string]bool{}
	for _, file := range []string{"Makefile", "localstack/tools/template.mk"} {
		for _, match := range regexp.MustCompile(`(?m)^([a-z][a-z-]*):`).FindAllStringSubmatch(read(t, filepath.Join(root, file)), -1) {
			targets[match[1]] = true
		}
	}
	for _, page := range pages(t) {
		for _, match := range regexp.MustCompile("(?m)(?:^|`)(?:SCREENSHOTS=1 )?make\\s([a-z][a-z-]*)").FindAllStringSubmatch(read(t, page), -1) {
			if !targets[match[1]] {
				t.Errorf("%s: no target %s of make", page, match[1])
			}
		}
	}
}

// Every Go name, attribute and variable that the pages for developers name occurs in the code.
func TestPages_Names(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, file := range tracked(t) {
		if !strings.HasSuffix(file, ".go") && file != "/template.yaml" && file != "/localstack/browser/tools.sh" {
			continue
		}
		for _, word := range regexp.MustCompile(`\w+`).FindAllString(read(t, root+file), -1) {
			known[word] = true
		}
	}
	name, checked := regexp.MustCompile(`^(?:[a-z]+\.)*(\w*[A-Z]\w*)$`), 0
	for _, page := range []string{"architecture.md", "development.md"} {
		for _, word := range codeWords(read(t, page)) {
			match := name.FindStringSubmatch(word)
			if match == nil {
				continue
			}
			checked++
			if !known[match[1]] {
				t.Errorf("%s: %s does not occur in the code", page, word)
			}
		}
	}
	if checked < 40 {
		t.Errorf("found %d names, want 40 or more", checked)
	}
}
