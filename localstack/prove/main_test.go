package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheREADMETellsOfEveryPart(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "| part | what is promised")
	section, _, _ = strings.Cut(section, "\n\n")
	var told []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|.*\\|.*\\|$").FindAllStringSubmatch(section, -1) {
		told = append(told, row[1])
	}
	if diff := cmp.Diff(partNames(), told); diff != "" {
		t.Errorf("the parts and README.md differ (-parts +README):\n%s", diff)
	}
}
