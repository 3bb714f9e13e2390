package intake_test

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"iter"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/intake/submission"
)

// oneSubmission stores one submission.
type oneSubmission struct {
	intake.Store
	stored submission.Submission
}

func (s *oneSubmission) Submission(context.Context, campaign.ID) (submission.Submission, error) {
	return s.stored, nil
}

func (s *oneSubmission) SaveSubmission(_ context.Context, sub submission.Submission) (submission.Submission, error) {
	sub.Version++
	s.stored = sub
	return sub, nil
}

// Template returns one without texts.
func (*oneSubmission) Template(context.Context, string) (campaign.Template, error) {
	return campaign.Template{}, nil
}

// noBlobs has nothing to delete.
type noBlobs struct{ intake.Blobs }

func (noBlobs) List(context.Context, string) iter.Seq2[campaign.Blob, error] {
	return func(func(campaign.Blob, error) bool) {}
}

type source struct{ *bytes.Reader }

func (source) BytesRead() int64 { return 0 }

// emptyRows returns a workbook of some kilobytes with millions of empty rows.
func emptyRows(t *testing.T) []byte {
	t.Helper()
	var file bytes.Buffer
	w := zip.NewWriter(&file)
	sheet, err := w.Create("xl/worksheets/sheet1.xml")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(sheet, `<worksheet><sheetData><row><c t="str"><v>phone</v></c></row>`)
	for range 1000 {
		_, _ = io.WriteString(sheet, strings.Repeat("<row/>", 10_000))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// A file that cannot be read in the time of a function fails, and is not tried for ever.
func TestWorker_SlowFile(t *testing.T) {
	t.Parallel()
	file := emptyRows(t)
	for _, state := range []submission.State{submission.StateOpening, submission.StateChecking} {
		const margin = 20 * time.Second // of the function's time
		ctx, cancel := context.WithTimeout(t.Context(), margin+100*time.Millisecond)
		t.Cleanup(cancel)
		if sub := handled(ctx, t, state, file); sub.State != submission.StateFailed || sub.Fault.Code != "workbook_large" {
			t.Errorf("%s: %s, %q; want a failure workbook_large", state, sub.State, sub.Fault.Code)
		}
	}
}

// handled returns the submission of a file after its task.
func handled(ctx context.Context, t *testing.T, state submission.State, file []byte) submission.Submission {
	t.Helper()
	store := &oneSubmission{stored: submission.Submission{State: state}}
	w := &intake.Worker{Store: templates{store}, Blobs: noBlobs{}, PartLines: 2, Tasks: &queue{}, Open: func(context.Context, string, string) (port.File, int64, error) {
		return source{bytes.NewReader(file)}, int64(len(file)), nil
	}}
	if err := w.Handle(ctx, []submission.Task{{}})[0]; err != nil {
		t.Error(err)
	}
	return store.stored
}

// The row of a submission has room for the fault of any file.
func TestWorker_LongNames(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("a", 500_000)
	sub := handled(t.Context(), t, submission.StateOpening, []byte(name+","+name+"\n1,2\n"))
	if sub.Fault.Code != "twice" || len(strings.Join(sub.Fault.Args, "")) > 200 {
		t.Errorf("%q with %d bytes of arguments, want twice with a few", sub.Fault.Code, len(strings.Join(sub.Fault.Args, "")))
	}
}

// The first line has the names of the columns: they are remembered, and its person would get
// no message.
func TestWorker_NoHeader(t *testing.T) {
	t.Parallel()
	for file, fault := range map[string]string{
		"Ana,(11) 98888-0001\nBia,11988880002\n": "no_header",
		"Ana,1188880001\nBia,11988880002\n":      "no_header", // a refused number
		"Ana,98888-0001\nBia,11988880002\n":      "no_header",
		"nome,2026,1\nBia,11988880002,2\n":       "",
		"telefone,20261128\n11988880002,2\n":     "",
		"nome,28/11/2026\nBia,11988880002\n":     "",
		"cliente,2026-11-28\nBia,11988880002\n":  "",
	} {
		if sub := handled(t.Context(), t, submission.StateOpening, []byte(file)); sub.Fault.Code != fault {
			t.Errorf("%q: %s, %q; want %q", file, sub.State, sub.Fault.Code, fault)
		}
	}
}

// templates has one template and no columns of earlier files.
type templates struct{ *oneSubmission }

func (templates) Template(context.Context, string) (campaign.Template, error) {
	return campaign.Template{}, nil
}

func (templates) KnownColumns(context.Context, string) (map[string]string, error) {
	return map[string]string{}, nil
}
