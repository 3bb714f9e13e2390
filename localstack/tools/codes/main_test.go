package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
)

const root = "../../.."

// The files contain the codes as the table has them.
func TestBlocks_UpToDate(t *testing.T) {
	t.Parallel()
	for _, b := range blocks {
		text := read(t, b.path)
		got, err := b.update(text, campaign.MessageCodes)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Split(got, "\n"), strings.Split(text, "\n")); diff != "" {
			t.Errorf("%s needs go generate ./internal/campaign (-table +file):\n%s", b.path, diff)
		}
	}
}

// The row of a new code is sufficient for every list and table.
func TestBlocks_NewCode(t *testing.T) {
	t.Parallel()
	row := campaign.MessageCode{
		Code: "code_of_a_test", Outcome: campaign.OutcomeExpired, Cause: "A cause.",
		Meaning: campaign.Text{English: "A meaning.", Portuguese: "Um significado."},
		Action:  campaign.Text{English: "An action.", Portuguese: "Uma ação."},
	}
	codes := append([]campaign.MessageCode{row}, campaign.MessageCodes...)
	for _, b := range blocks {
		text := read(t, b.path)
		got, err := b.update(text, codes)
		if err != nil {
			t.Fatal(err)
		}
		want := ", `code_of_a_test`" + b.end
		if b.table {
			want = "\n| `code_of_a_test` | " + b.cells(row) + " |\n" + b.end
		}
		if n := strings.Count(got, want); n != b.count {
			t.Errorf("%s contains %q %d times, want %d", b.path, want, n, b.count)
		}
		if again, err := b.update(got, codes); again != got || err != nil {
			t.Errorf("%s changes in a second run: %v", b.path, err)
		}
	}
}

// A code with the meaning and the action of others joins their row.
func TestBlocks_SharedRow(t *testing.T) {
	t.Parallel()
	b := block{path: "page.md", begin: begin, end: end, count: 1, cells: english, table: true}
	same := campaign.Text{English: "Same."}
	got, err := b.update(begin+"| Code | Meaning | Action |\n|---|---|---|\n| `b` | Old. | Old. |\n"+end+"After.\n", []campaign.MessageCode{
		{Code: "a", Meaning: same, Action: same},
		{Code: "b", Meaning: campaign.Text{English: "New."}, Action: same},
		{Code: "c", Meaning: same, Action: same},
		{Code: "d"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := begin + "| Code | Meaning | Action |\n|---|---|---|\n| `b` | New. | Same. |\n| `a`, `c` | Same. | Same. |\n" + end + "After.\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
}

// A file without its marks, or a table without its head, is an error that names the file.
func TestBlocks_Incomplete(t *testing.T) {
	t.Parallel()
	b := block{path: "page.md", begin: begin, end: end, count: 1, cells: english, table: true}
	for name, text := range map[string]string{
		"begin": "| Code |\n" + end, "end": begin + "| Code |\n", "twice": begin + end + begin + end,
		"empty table": begin + end, "no rule": begin + "| Code |\n" + end,
	} {
		if _, err := b.update(text, campaign.MessageCodes); err == nil || !strings.Contains(err.Error(), "page.md") {
			t.Errorf("%s: got error %v, want one that names the page", name, err)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
