package sheet_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/intake/sheet"
	"campaign-dispatch/internal/intake/submission"
)

// told is what the program that wrote a file of testdata/corpus shows of it.
type told struct {
	Header []string `json:"header"`
	Sheets []string `json:"sheets"`
	Lines  []struct {
		Line   int      `json:"line"`
		Cells  []string `json:"cells"`
		Hidden bool     `json:"hidden"`
	} `json:"lines"`
}

// Files that others' programs wrote are read as these programs show them: all cells, without exception.
func TestOpen_Corpus(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/corpus/*.*.json")
	const programs, imitated = 9, 3
	if err != nil || len(files) != programs+imitated {
		t.Fatalf("%d files, want %d (%v)", len(files), programs+imitated, err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			var want told
			text, err := os.ReadFile(name)
			if err == nil {
				err = json.Unmarshal(text, &want)
			}
			if err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(name[:len(name)-len(".json")])
			if err != nil {
				t.Fatal(err)
			}
			f, err := sheet.Open(t.Context(), bytes.NewReader(content), int64(len(content)), submission.Reading{})
			if err != nil {
				t.Fatal(err)
			}
			checkTold(t, f, want)
		})
	}
}

func checkTold(t *testing.T, f *sheet.File, want told) {
	t.Helper()
	if diff := cmp.Diff([][]string{want.Header, want.Sheets}, [][]string{f.Columns, f.Sheets}); diff != "" {
		t.Errorf("header and sheets (-want +got):\n%s", diff)
	}
	for _, line := range want.Lines {
		row, err := f.Next()
		if err != nil {
			t.Fatalf("line %d: %v", line.Line, err)
		}
		got := make([]string, len(line.Cells))
		for column := range got {
			got[column] = row.Cell(column)
		}
		if diff := cmp.Diff(line.Cells, got); diff != "" || row.Line != line.Line || line.Hidden != (row.Fault == sheet.HiddenRow) {
			t.Errorf("line %d, read as %d with the fault %q (-want +got):\n%s", line.Line, row.Line, row.Fault, diff)
		}
		if phone := line.Cells[0]; row.ID(0) != phone {
			t.Errorf("line %d: the phone number is %q, want %q", line.Line, row.ID(0), phone)
		}
	}
	if row, err := f.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("read %v and %v after the last line", row, err)
	}
}
