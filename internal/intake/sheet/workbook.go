package sheet

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"math"
	"strconv"
	"strings"

	"campaign-dispatch/internal/intake/sheet/numberformat"
	"campaign-dispatch/internal/intake/submission"
)

// This file reads a sheet of a workbook (ECMA-376 part 1, SpreadsheetML) from its
// compressed parts. Libraries hold the whole file or sheet in memory, or write it to a disk.

const (
	maxShared    = 96 << 20 // bytes of the texts that cells share
	maxSheet     = 4 << 30  // bytes of a part, decompressed
	maxStyles    = 16 << 20 // bytes of the part with the styles
	maxFormats   = 1 << 16  // spreadsheets have at most 65,490 of them
	maxDirectory = 4 << 20  // bytes of the list of parts
	maxRow       = 1 << 30  // the last number that is believed; rows have ascending numbers
	sheetColumns = 1 << 14  // of a sheet
)

const sharedName = "xl/sharedStrings.xml"

type workbook struct {
	file       *storage
	sheet      *tokens
	name       string   // of the sheet
	names      []string // of the visible sheets with rows
	shared     []string
	styles     []*numberformat.Format
	since1904  bool      // from when days are counted
	bookRow              // the last one
	last       int       // the number of the last row that was read
	ahead      []bookRow // rows that are read, before the next ones
	withHidden bool      // whether hidden rows are read as others are
	size       int       // of the cells' texts in bytes
	// uncalculated reports whether no spreadsheet has calculated the formulas yet.
	uncalculated bool
}

func openWorkbook(ctx context.Context, file io.ReaderAt, size int64, reading submission.Reading) (*workbook, error) {
	content, archive, err := openArchive(ctx, file, size)
	if err != nil {
		return nil, err
	}
	w := &workbook{file: content, withHidden: reading.Hidden}
	if err := w.open(archive, reading.Sheet); err != nil {
		return nil, content.fault(err)
	}
	err = w.findHeader()
	return w, err
}

// openArchive opens the list of a workbook's parts, which is of limited size.
func openArchive(ctx context.Context, file io.ReaderAt, size int64) (*storage, *zip.Reader, error) {
	content := &storage{ctx: ctx, file: file, left: maxDirectory}
	archive, err := zip.NewReader(content, size)
	content.left = math.MaxInt64
	err = content.fault(err)
	return content, archive, err
}

// SharedSize returns the size in bytes of the texts that the cells of a workbook share, as its
// directory states it, and 0 for other files.
func SharedSize(ctx context.Context, file io.ReaderAt, size int64) (int64, error) {
	head, err := headOf(file, min(int64(len(zipMagic)), size))
	if err != nil || !bytes.Equal(head, zipMagic) {
		return 0, err
	}
	content, archive, err := openArchive(ctx, file, size)
	if err != nil {
		return 0, err
	}
	info, err := fs.Stat(archive, sharedName) // as sharedTexts finds it: a part may be written as /xl/…
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, content.fault(err)
	}
	return info.Size(), nil
}

// open opens the wanted sheet, and reads what its cells refer to.
func (w *workbook) open(archive *zip.Reader, wanted string) (err error) {
	part, err := w.findSheet(archive, wanted)
	if err != nil {
		return err
	}
	if w.shared, err = w.sharedTexts(archive); err != nil {
		return err
	}
	if w.styles, err = w.readStyles(archive); err != nil {
		return err
	}
	sheet, err := archive.Open(part)
	if err != nil {
		return err
	}
	w.sheet = w.file.tokens(sheet, maxSheet)
	return nil
}

// decode decodes a small part of the workbook. A missing part leaves the value as it is.
func (w *workbook) decode(archive *zip.Reader, name string, value any) error {
	part, err := archive.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = part.Close() }() // read only
	return w.file.tokens(part, maxStyles).decoder.Decode(value)
}

// sharedTexts returns the texts that cells refer to by their index.
func (w *workbook) sharedTexts(archive *zip.Reader) (texts []string, err error) {
	part, err := archive.Open(sharedName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = part.Close() }() // read only
	content := w.file.tokens(part, maxSheet)
	for size := 0; size <= maxShared; {
		token, err := content.next()
		if errors.Is(err, io.EOF) {
			return texts, nil
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "si" {
			var text string
			text, err = content.text("si")
			const header = 16 // of a string
			size += len(text) + header
			texts = append(texts, text)
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, broken("workbook_large")
}

func (w *workbook) ansi() bool { return false }

func (w *workbook) next() (int, []string, error) {
	if len(w.ahead) > 0 {
		w.bookRow, w.ahead = w.ahead[0], w.ahead[1:]
		return w.line, w.cells, nil
	}
	return w.read()
}

// read reads the next row of the sheet.
func (w *workbook) read() (int, []string, error) {
	for {
		token, err := w.sheet.next()
		if err != nil {
			return 0, nil, w.endOfSheet(err)
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "row" {
			continue
		}
		w.last++
		if number, err := strconv.Atoi(attribute(start, "r")); err == nil && number > w.last && number <= maxRow {
			w.last = number
		}
		w.line, w.hidden = w.last, isHidden(start)
		if err := w.readRow(); err != nil {
			return 0, nil, w.file.fault(err)
		}
		return w.line, w.cells, nil
	}
}

func (w *workbook) endOfSheet(err error) error {
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	return w.file.fault(err)
}

func (w *workbook) readRow() error {
	w.cells, w.plain, w.failed, w.size = w.cells[:0], w.plain[:0], false, 0
	return w.sheet.until("row", func(token xml.Token) error {
		if t, ok := token.(xml.StartElement); ok && t.Name.Local == "c" {
			return w.readCell(t)
		}
		return nil
	})
}

func (w *workbook) readCell(start xml.StartElement) error {
	column := len(w.cells)
	if name := attribute(start, "r"); name != "" {
		column = columnNumber(name)
	}
	if column < 0 || column >= sheetColumns {
		return broken("many_columns", w.line, MaxColumns)
	}
	text, plain, err := w.cellText(attribute(start, "t"), attribute(start, "s"))
	if err != nil {
		return err
	}
	if w.size += len(text); w.size > maxRecord {
		return broken("many_columns", w.line, MaxColumns)
	}
	if text == "" && column >= MaxColumns { // a format of a whole row goes up to the last column
		return nil
	}
	w.cells = put(w.cells, column, text)
	if plain != "" {
		w.plain = put(w.plain, column, plain)
	}
	return nil
}

// put sets an element of a list, which becomes longer if needed.
func put(list []string, at int, text string) []string {
	for len(list) <= at {
		list = append(list, "")
	}
	list[at] = text
	return list
}

// columnNumber returns the column of a cell's name, from 0: 27 for AB12. It returns -1 for an
// invalid name.
func columnNumber(cell string) int {
	column := 0
	for i := 0; i < len(cell) && cell[i] >= 'A' && cell[i] <= 'Z' && column <= sheetColumns; i++ {
		column = column*26 + int(cell[i]-'A') + 1
	}
	return column - 1
}

// cellText returns the text of the cell that has begun, as the spreadsheet shows it, and the number without its format. A
// formula without a result has none.
func (w *workbook) cellText(kind, style string) (text, plain string, err error) {
	var value strings.Builder
	inValue, formula := false, false
	err = w.sheet.until("c", func(token xml.Token) error {
		switch t := token.(type) {
		case xml.StartElement:
			inValue, formula = t.Name.Local == "v", formula || t.Name.Local == "f"
			if t.Name.Local == "is" {
				text, err := w.sheet.text("is")
				value.WriteString(text)
				return cmp.Or(err, tooLong(&value))
			}
		case xml.CharData:
			if inValue {
				value.Write(t)
			}
		case xml.EndElement:
			inValue = false
		}
		return tooLong(&value)
	})
	if kind == "e" || formula && w.withoutResult(value.String(), kind) {
		w.failed = true
		return "", "", err
	}
	text, plain = w.shown(value.String(), kind, style)
	return text, plain, err
}
