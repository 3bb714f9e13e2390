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
	"path"
	"strconv"
	"strings"
	"time"
)

// This file reads the first sheet of a workbook (ECMA-376 part 1, SpreadsheetML) from its
// compressed parts. Libraries hold the whole file or sheet in memory, or write it to a disk.

const (
	maxShared    = 96 << 20 // bytes of the texts that cells share
	maxSheet     = 4 << 30  // bytes of a part, decompressed
	maxStyles    = 16 << 20 // bytes of the part with the styles
	maxFormats   = 1 << 16  // spreadsheets have at most 65,490 of them
	maxDirectory = 4 << 20  // bytes of the list of parts
	maxRow       = 1 << 30  // the last number that is believed; rows have ascending numbers
)

const sharedName = "xl/sharedStrings.xml"

type workbook struct {
	file   *storage
	sheet  *tokens
	shared []string
	styles map[int]format
	epoch  time.Time // day 0 of dates
	line   int
	cells  []string
	size   int // of the cells' texts in bytes
}

func openWorkbook(ctx context.Context, file io.ReaderAt, size int64) (*workbook, error) {
	content, archive, err := openArchive(ctx, file, size)
	if err != nil {
		return nil, err
	}
	w := &workbook{file: content}
	return w, content.fault(w.open(archive))
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
	head := make([]byte, min(int64(len(zipMagic)), size))
	if n, err := file.ReadAt(head, 0); err != nil && (!errors.Is(err, io.EOF) || n < len(head)) {
		return 0, err
	}
	if !bytes.Equal(head, zipMagic) {
		return 0, nil
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

// open opens the first sheet, and reads what its cells refer to.
func (w *workbook) open(archive *zip.Reader) (err error) {
	var name string
	if name, w.epoch, err = w.firstSheet(archive); err != nil {
		return err
	}
	if w.shared, err = w.sharedTexts(archive); err != nil {
		return err
	}
	if w.styles, err = w.readStyles(archive); err != nil {
		return err
	}
	sheet, err := archive.Open(name)
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

type book struct {
	Properties struct {
		Date1904 string `xml:"date1904,attr"`
	} `xml:"workbookPr"`
	Sheets []struct {
		ID    string `xml:"id,attr"` // of the namespace of relationships, which has two names
		State string `xml:"state,attr"`
	} `xml:"sheets>sheet"`
}

func (b book) firstSheet() string {
	for _, sheet := range b.Sheets {
		if sheet.State != "hidden" && sheet.State != "veryHidden" {
			return sheet.ID
		}
	}
	return ""
}

func (b book) epoch() time.Time {
	if since1904 := b.Properties.Date1904; since1904 == "1" || since1904 == "true" {
		return time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
}

// firstSheet returns the name of the part with the first sheet, and day 0 of the workbook's
// dates.
func (w *workbook) firstSheet(archive *zip.Reader) (name string, epoch time.Time, err error) {
	var sheets book
	var links struct {
		All []struct {
			ID     string `xml:"Id,attr"`
			Target string `xml:"Target,attr"`
		} `xml:"Relationship"`
	}
	if err := w.decode(archive, "xl/workbook.xml", &sheets); err != nil {
		return "", epoch, err
	}
	if err := w.decode(archive, "xl/_rels/workbook.xml.rels", &links); err != nil {
		return "", epoch, err
	}
	for _, link := range links.All {
		if link.ID != sheets.firstSheet() {
			continue
		}
		if absolute, ok := strings.CutPrefix(link.Target, "/"); ok {
			return absolute, sheets.epoch(), nil
		}
		return path.Join("xl", link.Target), sheets.epoch(), nil
	}
	return "xl/worksheets/sheet1.xml", sheets.epoch(), nil
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
	for {
		token, err := w.sheet.next()
		if err != nil {
			return 0, nil, w.endOfSheet(err)
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "row" {
			continue
		}
		w.line++
		if number, err := strconv.Atoi(attribute(start, "r")); err == nil && number > w.line && number <= maxRow {
			w.line = number
		}
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
	w.cells, w.size = w.cells[:0], 0
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
	if column < 0 || column > maxSeparators {
		return broken("many_columns", w.line, MaxColumns)
	}
	text, err := w.cellText(attribute(start, "t"), attribute(start, "s"))
	if err != nil {
		return err
	}
	if w.size += len(text); w.size > maxRecord {
		return broken("many_columns", w.line, MaxColumns)
	}
	for len(w.cells) <= column {
		w.cells = append(w.cells, "")
	}
	w.cells[column] = text
	return nil
}

// columnNumber returns the column of a cell's name, from 0: 27 for AB12. It returns -1 for an
// invalid name.
func columnNumber(cell string) int {
	column := 0
	for i := 0; i < len(cell) && cell[i] >= 'A' && cell[i] <= 'Z' && column <= maxSeparators; i++ {
		column = column*26 + int(cell[i]-'A') + 1
	}
	return column - 1
}

// cellText returns the text of the cell that has begun, as the spreadsheet shows it.
func (w *workbook) cellText(kind, style string) (string, error) {
	var value strings.Builder
	inValue := false
	err := w.sheet.until("c", func(token xml.Token) error {
		switch t := token.(type) {
		case xml.StartElement:
			inValue = t.Name.Local == "v"
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
	return w.shown(value.String(), kind, style), err
}
