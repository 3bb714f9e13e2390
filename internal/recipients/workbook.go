package recipients

import (
	"archive/zip"
	"compress/flate"
	"encoding/xml"
	"errors"
	"io"
	"path"
	"strconv"
	"strings"
	"time"
)

// This file reads the first sheet of a workbook (ECMA-376 part 1, SpreadsheetML) from its
// compressed parts. Libraries hold the whole file or sheet in memory, or write it to a disk.

const (
	// maxShared is the maximum size in bytes of the texts that the cells of a workbook share.
	maxShared = 96 << 20
	// maxSheet is the maximum size of a part of the workbook, decompressed.
	maxSheet = 4 << 30
	// maxStyles limits the part with the styles.
	maxStyles = 16 << 20
)

// workbook reads the rows of a sheet.
type workbook struct {
	sheet  *xml.Decoder
	shared []string
	dates  map[int]bool // styles that show a date
	epoch  time.Time    // day 0 of dates
	line   int
	cells  []string
}

func openWorkbook(file io.ReaderAt, size int64) (*workbook, error) {
	archive, err := zip.NewReader(file, size)
	if err != nil {
		return nil, workbookError(err)
	}
	archive.RegisterDecompressor(zip.Deflate, func(r io.Reader) io.ReadCloser {
		return struct {
			io.Reader
			io.Closer
		}{&bounded{r: flate.NewReader(r), left: maxSheet}, io.NopCloser(nil)}
	})
	w := &workbook{dates: map[int]bool{}}
	name, epoch, err := firstSheet(archive)
	if err != nil {
		return nil, workbookError(err)
	}
	w.epoch = epoch
	if w.shared, err = sharedTexts(archive); err != nil {
		return nil, workbookError(err)
	}
	if w.dates, err = dateStyles(archive); err != nil {
		return nil, workbookError(err)
	}
	sheet, err := archive.Open(name)
	if err != nil {
		return nil, broken("workbook_damaged")
	}
	w.sheet = xml.NewDecoder(sheet)
	return w, nil
}

// workbookError returns the error of an invalid workbook. Errors of the storage remain.
func workbookError(err error) error {
	if _, syntax := errors.AsType[*xml.SyntaxError](err); syntax || errors.Is(err, zip.ErrFormat) || errors.Is(err, zip.ErrAlgorithm) ||
		errors.Is(err, zip.ErrChecksum) || errors.Is(err, io.ErrUnexpectedEOF) {
		return broken("workbook_damaged")
	}
	if _, corrupt := errors.AsType[flate.CorruptInputError](err); corrupt {
		return broken("workbook_damaged")
	}
	return err
}

// bounded refuses to decompress more than left bytes.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, broken("workbook_large")
	}
	return n, err
}

// decode decodes a small part of the workbook. A missing part leaves the value as it is.
func decode(archive *zip.Reader, name string, most int64, value any) error {
	part, err := archive.Open(name)
	if err != nil {
		return nil
	}
	defer func() { _ = part.Close() }() // read only
	return xml.NewDecoder(&bounded{r: part, left: most}).Decode(value)
}

// firstSheet returns the name of the part with the first sheet, and day 0 of the workbook's
// dates.
func firstSheet(archive *zip.Reader) (name string, epoch time.Time, err error) {
	var book struct {
		Properties struct {
			Date1904 string `xml:"date1904,attr"`
		} `xml:"workbookPr"`
		Sheets []struct {
			ID string `xml:"http://schemas.openxmlformats.org/officeDocument/2006/relationships id,attr"`
		} `xml:"sheets>sheet"`
	}
	var links struct {
		All []struct {
			ID     string `xml:"Id,attr"`
			Target string `xml:"Target,attr"`
		} `xml:"Relationship"`
	}
	if err := decode(archive, "xl/workbook.xml", maxStyles, &book); err != nil {
		return "", epoch, err
	}
	if err := decode(archive, "xl/_rels/workbook.xml.rels", maxStyles, &links); err != nil {
		return "", epoch, err
	}
	epoch = time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	if since1904 := book.Properties.Date1904; since1904 == "1" || since1904 == "true" {
		epoch = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	for _, link := range links.All {
		if len(book.Sheets) > 0 && link.ID == book.Sheets[0].ID {
			if absolute, ok := strings.CutPrefix(link.Target, "/"); ok {
				return absolute, epoch, nil
			}
			return path.Join("xl", link.Target), epoch, nil
		}
	}
	return "xl/worksheets/sheet1.xml", epoch, nil
}

// sharedTexts returns the texts that cells refer to by their index.
func sharedTexts(archive *zip.Reader) (texts []string, err error) {
	part, err := archive.Open("xl/sharedStrings.xml")
	if err != nil {
		return nil, nil
	}
	defer func() { _ = part.Close() }() // read only
	decoder := xml.NewDecoder(part)
	for size := 0; size <= maxShared; {
		token, err := decoder.RawToken()
		if errors.Is(err, io.EOF) {
			return texts, nil
		}
		if err != nil {
			return nil, err
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "si" {
			text, err := elementText(decoder, "si")
			if err != nil {
				return nil, err
			}
			const header = 16 // of a string
			size += len(text) + header
			texts = append(texts, text)
		}
	}
	return nil, broken("workbook_large")
}

// elementText returns the texts of the elements t up to the end of an element. Phonetic
// hints are left out.
func elementText(decoder *xml.Decoder, end string) (string, error) {
	text, inText, hints := "", false, 0
	for {
		token, err := decoder.RawToken()
		if err != nil {
			return "", eofIsDamage(err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			inText = t.Name.Local == "t"
			if t.Name.Local == "rPh" {
				hints++
			}
		case xml.CharData:
			if inText && hints == 0 && len(text)+len(t) <= maxRecord {
				text += string(t)
			}
		case xml.EndElement:
			inText = false
			if t.Name.Local == "rPh" {
				hints--
			}
			if t.Name.Local == end {
				return text, nil
			}
		}
	}
}

func eofIsDamage(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// dateStyles returns the styles of cells that show a date or a time.
func dateStyles(archive *zip.Reader) (map[int]bool, error) {
	var styles struct {
		Formats []struct {
			ID   int    `xml:"numFmtId,attr"`
			Code string `xml:"formatCode,attr"`
		} `xml:"numFmts>numFmt"`
		Cells []struct {
			Format int `xml:"numFmtId,attr"`
		} `xml:"cellXfs>xf"`
	}
	if err := decode(archive, "xl/styles.xml", maxStyles, &styles); err != nil {
		return nil, err
	}
	formats := map[int]bool{}
	for id := range 48 { // built-in formats
		formats[id] = (id >= 14 && id <= 22) || id >= 45
	}
	for _, f := range styles.Formats {
		formats[f.ID] = isDate(f.Code)
	}
	dates := map[int]bool{}
	for i, c := range styles.Cells {
		dates[i] = formats[c.Format]
	}
	return dates, nil
}

// isDate reports whether a format shows a date or a time: it has a d, m, y, h or s outside of
// quotes and brackets.
func isDate(code string) bool {
	quoted, bracket := false, false
	for _, r := range strings.ToLower(code) {
		switch {
		case r == '"':
			quoted = !quoted
		case quoted:
		case r == '[':
			bracket = true
		case r == ']':
			bracket = false
		case !bracket && strings.ContainsRune("dmyhs", r):
			return true
		}
	}
	return false
}

func (w *workbook) ansi() bool { return false }

// next returns the cells of the next row.
func (w *workbook) next() (int, []string, error) {
	for {
		token, err := w.sheet.RawToken()
		if err != nil {
			return 0, nil, endOfSheet(err)
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "row" {
			continue
		}
		w.line++
		if number, err := strconv.Atoi(attribute(start, "r")); err == nil && number > 0 {
			w.line = number
		}
		if err := w.readRow(); err != nil {
			return 0, nil, workbookError(err)
		}
		return w.line, w.cells, nil
	}
}

func endOfSheet(err error) error {
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	return workbookError(err)
}

func (w *workbook) readRow() error {
	w.cells = w.cells[:0]
	for {
		token, err := w.sheet.RawToken()
		if err != nil {
			return eofIsDamage(err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			if t.Name.Local == "c" {
				if err := w.readCell(t); err != nil {
					return err
				}
			}
		case xml.EndElement:
			if t.Name.Local == "row" {
				return nil
			}
		}
	}
}

// readCell reads a cell into its column.
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
	value, inValue := "", false
	for {
		token, err := w.sheet.RawToken()
		if err != nil {
			return "", eofIsDamage(err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			if t.Name.Local == "is" {
				if value, err = elementText(w.sheet, "is"); err != nil {
					return "", err
				}
			}
			inValue = t.Name.Local == "v"
		case xml.CharData:
			if inValue && len(value)+len(t) <= maxRecord {
				value += string(t)
			}
		case xml.EndElement:
			inValue = false
			if t.Name.Local == "c" {
				return w.shown(value, kind, style), nil
			}
		}
	}
}

// shown returns a value as the spreadsheet shows it. An error like #N/A is "".
func (w *workbook) shown(value, kind, style string) string {
	switch kind {
	case "s":
		if i, err := strconv.Atoi(value); err == nil && i >= 0 && i < len(w.shared) {
			return w.shared[i]
		}
		return ""
	case "e":
		return ""
	case "", "n":
		if i, err := strconv.Atoi(style); err == nil && w.dates[i] {
			return w.dateText(value)
		}
		return numberText(value)
	}
	return value
}

// numberText returns a number without an exponent: 5511987654321 for 5.511987654321E12.
func numberText(value string) string {
	if !strings.ContainsAny(value, "eE.") {
		return value
	}
	f, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return value
	}
	const significant = 15 // digits that Excel keeps
	if rounded, err := strconv.ParseFloat(strconv.FormatFloat(f, 'g', significant, 64), 64); err == nil {
		f = rounded
	}
	return strings.Replace(strconv.FormatFloat(f, 'f', -1, 64), ".", ",", 1)
}

// dateText returns a day number as a date of Brazil, with the time if there is one.
func (w *workbook) dateText(value string) string {
	days, err := strconv.ParseFloat(value, 64)
	const last = 2958466 // the year 10000
	if err != nil || days < 0 || days >= last {
		return value
	}
	const secondsOfDay = 24 * 60 * 60
	seconds := int64(days*secondsOfDay + 0.5)
	at := w.epoch.AddDate(0, 0, int(seconds/secondsOfDay)).Add(time.Duration(seconds%secondsOfDay) * time.Second)
	switch {
	case days < 1:
		return at.Format("15:04")
	case seconds%secondsOfDay == 0:
		return at.Format("02/01/2006")
	}
	return at.Format("02/01/2006 15:04")
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name && a.Name.Space == "" {
			return a.Value
		}
	}
	return ""
}
