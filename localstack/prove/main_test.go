package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestProofsPage_ListsEveryPart(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/proofs.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "| part | what is promised")
	section, _, _ = strings.Cut(section, "\n\n")
	var listed []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|.*\\|.*\\|$").FindAllStringSubmatch(section, -1) {
		listed = append(listed, row[1])
	}
	if diff := cmp.Diff(partNames(), listed); diff != "" {
		t.Errorf("the parts and docs/proofs.md differ (-parts +page):\n%s", diff)
	}
}
