package listfile_test

import (
	"errors"
	"strings"
	"testing"

	"campaign-dispatch/internal/intake/listfile"
	"campaign-dispatch/internal/intake/submission"
)

// A file of lines that are no numbers does not fill the memory. All are counted, and as many are listed as a download has.
func TestRead_ManyRefused(t *testing.T) {
	t.Parallel()
	const many, listed = 200_000, 150_000
	c, err := listfile.Read(t.Context(), []byte("telefone\n"+strings.Repeat("1\n", many)+"x\n"), 0, submission.Reading{})
	if err != nil || c.Findings.LeftOut() != many+1 || len(c.Lines) != listed+1 || c.Lines[listed].Line != many+2 {
		t.Errorf("%d refused, %d listed, %v", c.Findings.LeftOut(), len(c.Lines), err)
	}
	_, err = listfile.Read(t.Context(), []byte("telefone\n"+strings.Repeat("1\n", submission.MaxLines+1)), 0, submission.Reading{})
	if wrong, ok := errors.AsType[*submission.Fault](err); !ok || wrong.Code != "too_many_lines" {
		t.Errorf("too many lines: %v", err)
	}
}
