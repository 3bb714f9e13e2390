package recipients

import (
	"archive/zip"
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"math"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
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
	// maxDirectory is the maximum size in bytes of the list of the workbook's parts.
	maxDirectory = 4 << 20
)

// workbook reads the rows of a sheet.
type workbook struct {
	file   *storage
	sheet  *tokens
	shared []string
	dates  map[int]bool // styles that show a date
	epoch  time.Time    // day 0 of dates
	line   int
	cells  []string
	size   int // of the cells' texts in bytes
}

func openWorkbook(ctx context.Context, file io.ReaderAt, size int64) (*workbook, error) {
	w := &workbook{file: &storage{ctx: ctx, file: file, left: maxDirectory}}
	archive, err := zip.NewReader(w.file, size)
	if err != nil {
		return nil, w.file.fault(err)
	}
	w.file.left = math.MaxInt64
	if err := w.open(archive); err != nil {
		return nil, w.file.fault(err)
	}
	return w, nil
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
	if w.dates, err = w.dateStyles(archive); err != nil {
		return err
	}
	sheet, err := archive.Open(name)
	if err != nil {
		return err
	}
	w.sheet = w.file.tokens(sheet, maxSheet)
	return nil
}

// storage is the file of a workbook.
type storage struct {
	ctx  context.Context //nolint:containedctx // io.ReaderAt has no context
	file io.ReaderAt
	left int64 // bytes that may be read
	err  error // of the storage, not of the file's content
}

func (s *storage) ReadAt(p []byte, offset int64) (int, error) {
	if offset < 0 { // a damaged list of parts
		return 0, broken("workbook_damaged")
	}
	if s.left -= int64(len(p)); s.left < 0 {
		return 0, broken("workbook_large")
	}
	n, err := s.file.ReadAt(p, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// fault returns the error of an invalid workbook. Errors of the storage and of the context
// remain.
func (s *storage) fault(err error) error {
	if _, known := errors.AsType[*Error](err); known {
		return err
	}
	if err := cmp.Or(s.err, s.ctx.Err()); err != nil {
		return err
	}
	return broken("workbook_damaged")
}

// tokens returns the XML tokens of a part of the workbook with at most size bytes.
func (s *storage) tokens(part io.Reader, size int64) *tokens {
	limit := &bounded{ctx: s.ctx, r: part, left: size, token: size}
	return &tokens{xml.NewDecoder(limit), limit}
}

// bounded refuses to read more than left bytes, or more than token bytes for one token. It
// ends with the context.
type bounded struct {
	ctx         context.Context //nolint:containedctx // io.Reader has no context
	r           io.Reader
	left, token int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := b.r.Read(p)
	b.left, b.token = b.left-int64(n), b.token-int64(n)
	if b.left < 0 || b.token < 0 {
		return 0, broken("workbook_large")
	}
	return n, err
}

// tokens reads XML. Otherwise a single text could fill the memory.
type tokens struct {
	decoder *xml.Decoder
	limit   *bounded
}

func (t *tokens) next() (xml.Token, error) {
	t.limit.token = maxRecord
	return t.decoder.RawToken()
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

// book is the list of a workbook's sheets.
type book struct {
	Properties struct {
		Date1904 string `xml:"date1904,attr"`
	} `xml:"workbookPr"`
	Sheets []struct {
		ID    string `xml:"id,attr"` // of the namespace of relationships, which has two names
		State string `xml:"state,attr"`
	} `xml:"sheets>sheet"`
}

// first returns the ID of the first sheet that a person sees.
func (b book) first() string {
	for _, sheet := range b.Sheets {
		if sheet.State != "hidden" && sheet.State != "veryHidden" {
			return sheet.ID
		}
	}
	return ""
}

// epoch returns day 0 of the workbook's dates.
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
		if link.ID != sheets.first() {
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
	part, err := archive.Open("xl/sharedStrings.xml")
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
		if err != nil {
			return nil, err
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "si" {
			text, err := content.text("si")
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

// text returns the texts of the elements t up to the end of an element. Phonetic hints are
// left out.
func (t *tokens) text(end string) (string, error) {
	var text strings.Builder
	inText, hints := false, 0
	for text.Len() <= maxRecord {
		token, err := t.next()
		if err != nil {
			return "", eofIsDamage(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			inText = e.Name.Local == "t"
			if e.Name.Local == "rPh" {
				hints++
			}
		case xml.CharData:
			if inText && hints == 0 {
				text.Write(e)
			}
		case xml.EndElement:
			inText = false
			if e.Name.Local == "rPh" {
				hints--
			}
			if e.Name.Local == end {
				return unescape(text.String()), nil
			}
		}
	}
	return "", broken("workbook_large")
}

// escape matches a character that XML cannot hold, as workbooks write it: _x000D_ for a
// carriage return.
var escape = regexp.MustCompile(`_x([0-9A-Fa-f]{4})_`)

func unescape(text string) string {
	if !strings.Contains(text, "_x") {
		return text
	}
	return escape.ReplaceAllStringFunc(text, func(match string) string {
		code, _ := strconv.ParseUint(match[len("_x"):len(match)-1], 16, 16)
		if unicode.IsControl(rune(code)) && !unicode.IsSpace(rune(code)) {
			return ""
		}
		return string(rune(code))
	})
}

func eofIsDamage(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// dateStyles returns the styles of cells that show a date or a time.
func (w *workbook) dateStyles(archive *zip.Reader) (map[int]bool, error) {
	var styles struct {
		Formats []struct {
			ID   int    `xml:"numFmtId,attr"`
			Code string `xml:"formatCode,attr"`
		} `xml:"numFmts>numFmt"`
		Cells []struct {
			Format int `xml:"numFmtId,attr"`
		} `xml:"cellXfs>xf"`
	}
	if err := w.decode(archive, "xl/styles.xml", &styles); err != nil {
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
// quotes and brackets, and not after a character that makes it a literal.
func isDate(code string) bool {
	quoted, bracket, literal := false, false, false
	for _, r := range strings.ToLower(code) {
		switch {
		case literal:
			literal = false
		case !quoted && (r == '\\' || r == '_' || r == '*'):
			literal = true
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
		token, err := w.sheet.next()
		if err != nil {
			return 0, nil, w.endOfSheet(err)
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
	for {
		token, err := w.sheet.next()
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
	for value.Len() <= maxRecord {
		token, err := w.sheet.next()
		if err != nil {
			return "", eofIsDamage(err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			if t.Name.Local == "is" {
				text, err := w.sheet.text("is")
				if err != nil {
					return "", err
				}
				value.WriteString(text)
			}
			inValue = t.Name.Local == "v"
		case xml.CharData:
			if inValue {
				value.Write(t)
			}
		case xml.EndElement:
			inValue = false
			if t.Name.Local == "c" {
				return w.shown(value.String(), kind, style), nil
			}
		}
	}
	return "", broken("workbook_large")
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
	return unescape(value)
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
