package sheet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/intake/sheet"
	"campaign-dispatch/internal/intake/submission"
)

func cell(text string) string { return `<c t="inlineStr"><is><t>` + text + `</t></is></c>` }

// A workbook whose content is far larger than its file must not fill the memory.
func TestOpen_LargeContent(t *testing.T) {
	t.Parallel()
	header, megabyte := `<row>`+cell("phone")+`</row>`, strings.Repeat(" ", 1<<20)
	parts := map[string]string{}
	for n := range 100 { // the list of the parts has their names
		parts[fmt.Sprintf("part-%060000d", n)] = ""
	}
	for name, test := range map[string]struct {
		sheet string
		more  map[string]string
		code  string
	}{
		"a text":          {header + `<row>` + cell("a"+megabyte+"b") + `</row>`, nil, "workbook_large"},
		"a text of parts": {header + `<row>` + cell(strings.Repeat("<x/></t><t>"+megabyte[:1<<16], 20)) + `</row>`, nil, "workbook_large"},
		"a value":         {header + `<row><c><v>` + strings.Repeat(megabyte[:1<<16]+"<x/><v>", 20) + `</v></c></row>`, nil, "workbook_large"},
		"an attribute":    {header + `<row x="` + megabyte + megabyte + `"/>`, nil, "workbook_large"},
		"a row":           {header + `<row>` + strings.Repeat(cell("a"+megabyte[:100_000]+"b"), 12) + `</row>`, nil, "many_columns"},
		"a shared text": {header + `<row><c t="s"><v>0</v></c></row>`, map[string]string{
			"xl/sharedStrings.xml": `<sst><si><t>a` + megabyte + `b</t></si></sst>`,
		}, "workbook_large"},
		"a row of shared texts": {header + `<row>` + strings.Repeat(`<c t="s"><v>0</v></c>`, 12) + `</row>`, map[string]string{
			"xl/sharedStrings.xml": `<sst><si><t>a` + megabyte[:100_000] + `b</t></si></sst>`,
		}, "many_columns"},
		"parts": {header, parts, "workbook_large"},
		"styles": {header, map[string]string{
			"xl/styles.xml": `<styleSheet><cellXfs>` + strings.Repeat("<xf/>", 70_000) + `</cellXfs></styleSheet>`,
		}, "workbook_large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := read(workbook(t, test.sheet, test.more))
			if wrong, ok := errors.AsType[*submission.Fault](err); !ok || wrong.Code != test.code {
				t.Errorf("got %v, want %s", err, test.code)
			}
		})
	}
}

// The size of the shared texts is that of the part that is read, however its name is written.
func TestSharedSize_OtherName(t *testing.T) {
	t.Parallel()
	texts := `<sst><si><t>phone</t></si></sst>`
	for _, name := range []string{"xl/sharedStrings.xml", "/xl/sharedStrings.xml", "xl//sharedStrings.xml", `xl\sharedStrings.xml`} {
		file := workbook(t, `<row><c t="s"><v>0</v></c></row><row>`+cell("1")+`</row>`, map[string]string{name: texts})
		got, err := read(file)
		size, sizeErr := sheet.SharedSize(t.Context(), bytes.NewReader(file), int64(len(file)))
		if uses := err == nil && got[0] == "phone"; uses != (size == int64(len(texts))) || sizeErr != nil {
			t.Errorf("%s: read as %v, %v, with shared texts of %d bytes, %v", name, got, err, size, sizeErr)
		}
	}
}

// Lines have ascending numbers, whatever the rows say: each line has its own.
func TestNext_RepeatedRows(t *testing.T) {
	t.Parallel()
	row := func(number, text string) string { return `<row r="` + number + `">` + cell(text) + `</row>` }
	got, err := read(workbook(t, row("1", "phone")+row("7", "a")+row("7", "b")+row("2", "c")+row("9223372036854775807", "d")+row("x", "e")+row("20", "f"), nil))
	if diff := cmp.Diff([]string{"phone", "7 a", "8 b", "9 c", "10 d", "11 e", "20 f"}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// No row ends the reading of a workbook of empty rows, but the context does.
func TestNext_ContextEnds(t *testing.T) {
	t.Parallel()
	file := workbook(t, `<row>`+cell("phone")+`</row>`+strings.Repeat("<row/>", 10_000), nil)
	ctx, cancel := context.WithCancel(t.Context())
	f, err := sheet.Open(ctx, bytes.NewReader(file), int64(len(file)), submission.Reading{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := f.Next(); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the error of the context", err)
	}
}

func TestOpen_InvalidXML(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]map[string]string{
		"another encoding": {"xl/worksheets/sheet2.xml": `<?xml version="1.0" encoding="UTF-16"?><worksheet/>`},
		"a style in words": {"xl/styles.xml": `<styleSheet><cellXfs><xf numFmtId="date"/></cellXfs></styleSheet>`},
		"nested too deep":  {"xl/styles.xml": strings.Repeat("<a>", 20_000)},
	} {
		_, err := read(workbook(t, "", more))
		if wrong, ok := errors.AsType[*submission.Fault](err); !ok || wrong.Code != "workbook_damaged" {
			t.Errorf("%s: got %v, want workbook_damaged", name, err)
		}
	}
}

var errStorage = fmt.Errorf("the connection ended: %w", io.ErrUnexpectedEOF)

// broken is a storage whose call number at fails.
type broken struct {
	io.ReaderAt
	calls, at int
}

func (b *broken) ReadAt(p []byte, offset int64) (int, error) {
	if b.calls++; b.calls == b.at {
		return 0, errStorage
	}
	return b.ReaderAt.ReadAt(p, offset)
}

// A failure of the storage neither means that the file is invalid nor changes what is read.
func TestOpen_StorageFails(t *testing.T) {
	t.Parallel()
	file := workbook(t, `<row>`+cell("phone")+`</row><row><c t="s"><v>0</v></c></row>`, map[string]string{
		"xl/sharedStrings.xml": `<sst><si><t>1</t></si></sst>`, "xl/styles.xml": `<styleSheet/>`,
	})
	whole := &broken{ReaderAt: bytes.NewReader(file)}
	if _, err := readFrom(whole, len(file)); err != nil || whole.calls < 10 {
		t.Fatalf("%d calls, %v", whole.calls, err)
	}
	for at := range whole.calls {
		rows, err := readFrom(&broken{ReaderAt: bytes.NewReader(file), at: at + 1}, len(file))
		if same := err == nil && strings.Join(rows, ",") == "phone,2 1"; !same && !errors.Is(err, errStorage) {
			t.Errorf("call %d fails: got %q and %v, want the error of the storage", at+1, rows, err)
		}
	}
}

// The first sheet that a person sees counts, also in a workbook of the strict format.
func TestOpen_HiddenSheet(t *testing.T) {
	t.Parallel()
	got, err := read(workbook(t, `<row>`+cell("phone")+`</row><row>`+cell("1")+`</row>`, map[string]string{
		"xl/workbook.xml": `<workbook xmlns:r="http://purl.oclc.org/ooxml/officeDocument/relationships"><sheets>` +
			`<sheet sheetId="1" state="veryHidden" r:id="rId4"/><sheet sheetId="2" state="hidden" r:id="rId4"/>` +
			`<sheet sheetId="3" r:id="rId3"/></sheets></workbook>`,
	}))
	if diff := cmp.Diff([]string{"phone", "2 1"}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
