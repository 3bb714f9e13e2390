// Package docs_test keeps the README short and the links of the pages valid.
package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

const root = ".."

func TestREADME_Length(t *testing.T) {
	t.Parallel()
	text := read(t, filepath.Join(root, "README.md"))
	if lines := strings.Count(text, "\n"); lines > 120 {
		t.Errorf("README.md has %d lines, want 120 at most", lines)
	}
	if words := len(strings.Fields(text)); words > 800 {
		t.Errorf("README.md has %d words, want 800 at most", words)
	}
}

// Rows of tables cannot be wrapped.
func TestPages_LineLength(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		for i, line := range strings.Split(read(t, page), "\n") {
			if n := utf8.RuneCountInString(line); n > 130 && !strings.HasPrefix(line, "|") {
				t.Errorf("%s:%d has %d characters, want 130 at most", page, i+1, n)
			}
		}
	}
}

// A cell is not a paragraph.
func TestPages_CellLength(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"dashboard.md", "development.md", "operations.md"} {
		for i, line := range strings.Split(read(t, page), "\n") {
			for cell := range strings.SplitSeq(line, " | ") {
				if n := len(strings.Fields(cell)); n > 40 && strings.HasPrefix(line, "|") {
					t.Errorf("%s:%d has a cell of %d words, want 40 at most", page, i+1, n)
				}
			}
		}
	}
}

func TestPages_RelativeLinks(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, page := range pages(t) {
		for _, link := range links(read(t, page)) {
			checked++
			if problem := brokenLink(t, page, link); problem != "" {
				t.Errorf("%s: link %q: %s", page, link, problem)
			}
		}
	}
	if checked < 20 {
		t.Errorf("found %d relative links, want 20 or more", checked)
	}
}

func TestPages_LinkedFromREADME(t *testing.T) {
	t.Parallel()
	readme := read(t, filepath.Join(root, "README.md"))
	for _, page := range pages(t)[1:] {
		if !strings.Contains(readme, "](docs/"+filepath.Base(page)+")") {
			t.Errorf("README.md does not link to %s", page)
		}
	}
}

func TestBrokenLink(t *testing.T) {
	t.Parallel()
	for link, broken := range map[string]bool{
		"docs/api.md": false, "docs/api.md#rate-limits": false, "docs/images/dashboard.png": false, "#run-it": false, "LICENSE": false,
		"docs/none.md": true, "docs/api.md#no-such-heading": true, "#no-such-heading": true,
	} {
		if problem := brokenLink(t, filepath.Join(root, "README.md"), link); (problem != "") != broken {
			t.Errorf("%s: %q", link, problem)
		}
	}
}

// pages returns the paths of README.md and of the pages beside this test.
func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("*.md")
	if err != nil || len(found) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	return append([]string{filepath.Join(root, "README.md")}, found...)
}

var (
	fence = regexp.MustCompile("(?ms)^```.*?\n```$")
	link  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
)

// links returns the relative links of a page, those in code blocks left out.
func links(text string) (relative []string) {
	for _, match := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		if !strings.Contains(match[1], "://") {
			relative = append(relative, match[1])
		}
	}
	return relative
}

// brokenLink returns what is wrong with a link of a page, or nothing.
func brokenLink(t *testing.T, page, link string) string {
	t.Helper()
	path, anchor, hasAnchor := strings.Cut(link, "#")
	target := page
	if path != "" {
		target = filepath.Join(filepath.Dir(page), path)
	}
	if _, err := os.Stat(target); err != nil {
		return "no such file"
	}
	if hasAnchor && !hasHeading(read(t, target), anchor) {
		return "no such heading"
	}
	return ""
}

func hasHeading(text, anchor string) bool {
	for line := range strings.Lines(fence.ReplaceAllString(text, "")) {
		if heading := strings.TrimLeft(line, "#"); heading != line && anchorOf(heading) == anchor {
			return true
		}
	}
	return false
}

// anchorOf returns the anchor that GitHub gives a heading.
func anchorOf(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(heading))
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
