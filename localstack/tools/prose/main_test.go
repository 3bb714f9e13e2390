package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The dashboard shows the documentation as it is written.
func TestFile_UpToDate(t *testing.T) {
	t.Parallel()
	want, err := file()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join("..", "..", "..", path))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("%s needs go generate ./internal/dashboard/apidocs (-want +got):\n%s", path, diff)
	}
}
