package sheet

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// csvRecords reads CSV as spreadsheets, scripts and databases write it. encoding/csv reads an open quote up to the end of
// the file, and knows neither ="…" nor \r\r\n. Each line of the file is in one record.
type csvRecords struct {
	lines    *lines
	comma    byte
	encoding *charmap.Charmap // of what is not UTF-8
	used     int              // lines
	width    int              // cells of the header, 0 before it is read
	cells    []string
	parts    []part
	other    bool   // whether the last record is not UTF-8
	guess    *guess // of the encoding, nil if it is not sought
}

// lineFault is the code of why a line is left out.
type lineFault string

func (f lineFault) Error() string { return "line of a file of recipients: " + string(f) }

func (c *csvRecords) ansi() bool { return c.other }

func (c *csvRecords) next() (int, []string, error) {
	begin := c.used + 1
	first, err := c.lines.at(0)
	c.other = false
	switch {
	case errors.Is(err, errLongLine):
		err = c.readLong()
		return begin, c.cells, err
	case err != nil:
		return 0, nil, err
	case bytes.IndexByte(c.lines.text(first.to), '"') >= 0:
		err = c.readQuoted(first)
	default:
		err = c.readPlain(first)
	}
	if c.width == 0 && !slices.ContainsFunc(c.cells, isText) { // a blank line before the header
		c.cells = c.cells[:0]
	}
	c.width = cmp.Or(c.width, len(c.cells))
	return begin, c.cells, err
}

// readLong leaves out a line that is too long. Its cells are only its beginning.
func (c *csvRecords) readLong() error {
	_ = c.split(string(c.lines.text(maxRecord))) // it has another fault
	c.decode()
	c.shorten()
	c.used++
	return cmp.Or(c.lines.skip(), error(lineFault(LongLine)))
}

// readPlain reads a line without quotes. One in UTF-8 says nothing about the encoding: while that is sought, it has no cells.
func (c *csvRecords) readPlain(line span) error {
	text := c.lines.text(line.to)
	valid := utf8.Valid(text)
	if c.guess != nil && valid && c.width > 0 {
		c.cells = c.cells[:0]
		c.use(line.next, 1)
		return nil
	}
	err := c.split(string(text[marksOf(text):]))
	c.use(line.next, 1)
	if !valid {
		c.decode()
	}
	return err
}

// isText reports whether a cell has more than separators and white space.
func isText(cell string) bool { return strings.Trim(strings.TrimSpace(cell), separators+noText) != "" }

func (c *csvRecords) use(to, count int) {
	c.lines.use(to)
	c.used += count
}

var mark = []byte("\ufeff")

// marksOf returns the size of the byte order marks that begin a line: files that were joined have more than one.
func marksOf(text []byte) (size int) {
	for bytes.HasPrefix(text[size:], mark) {
		size += len(mark)
	}
	return size
}

// split divides a line without quotes that count.
func (c *csvRecords) split(text string) error {
	c.cells = c.cells[:0]
	for range maxSeparators {
		at := strings.IndexByte(text, c.comma)
		if at < 0 {
			c.cells = append(c.cells, text)
			return nil
		}
		c.cells = append(c.cells, text[:at])
		text = text[at+1:]
	}
	c.cells = append(c.cells, text)
	if strings.IndexByte(text, c.comma) < 0 {
		return nil
	}
	return lineFault(TooManyCells)
}

// splitFaulty divides a line whose quotes are wrong, so that a person finds it.
func (c *csvRecords) splitFaulty(text string) {
	_ = c.split(text) // the line has another fault
	for n, cell := range c.cells {
		c.cells[n] = strings.Trim(cell, `" `)
	}
}

// decode decodes the cells that are not UTF-8.
func (c *csvRecords) decode() {
	for n, cell := range c.cells {
		if utf8.ValidString(cell) {
			continue
		}
		texts := strings.Split(cell, "\n")
		for i, text := range texts {
			texts[i] = c.decodeLine(text)
		}
		c.cells[n] = strings.Join(texts, "\n")
	}
}

func (c *csvRecords) decodeLine(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	if whole := withoutCut(text); whole < len(text) {
		return text[:whole] + "\ufffd"
	}
	c.other = true
	if c.guess != nil {
		c.guess.add(text)
		return text
	}
	return decoded(c.encoding, text)
}

// withoutCut returns the length of UTF-8 without its last character, if only a part of that is left: databases cut texts.
func withoutCut(text string) int {
	for at := max(0, len(text)-utf8.UTFMax+1); at < len(text); at++ {
		if !utf8.FullRuneInString(text[at:]) && utf8.ValidString(text[:at]) && !isASCII(text[:at]) {
			return at
		}
	}
	return len(text)
}

const maxLongCell = 200 // characters of a cell of a line that is too long

// shorten shortens the cells of a line that is too long.
func (c *csvRecords) shorten() {
	for n, cell := range c.cells {
		if len(cell) > maxLongCell {
			c.cells[n] = Cut(cell, maxLongCell)
		}
	}
}

// noText are characters that are no text of a cell: some programs fill the end of a file with NULs, or end it with the sign
// of DOS.
const noText = "\x00\x1a"

// blank reports whether a cell is empty.
func blank(cell string) bool {
	return cell == "" || strings.Trim(strings.TrimSpace(cell), noText) == ""
}

// trimmed returns the cells of a line without the empty ones at its end.
func trimmed(cells []string) []string {
	for len(cells) > 0 && blank(cells[len(cells)-1]) {
		cells = cells[:len(cells)-1]
	}
	return cells
}

// otherFormats begin pictures and documents.
var otherFormats = []string{"\xff\xd8\xff", "\x89PNG", "GIF8", "RIFF", "%PDF"}

// documents are how documents in text begin, in small letters. Some programs give pages and XML names that end in .xls.
var documents = []string{
	"<html", "<!doctype", "<?xml", "<table", "<head", "<meta", "<style", "<div", `{\rtf`, "mime-version:", "begin:vcard", "[{", `{"`,
}

// isOther reports whether a file is a picture or a document by its head.
func isOther(head []byte) bool {
	begins := func(magic string) bool { return bytes.HasPrefix(head, []byte(magic)) }
	if slices.ContainsFunc(otherFormats, begins) {
		return true
	}
	const longest = 20
	head = bytes.TrimSpace(head[marksOf(head):])
	head = bytes.ToLower(head[:min(len(head), longest)])
	return slices.ContainsFunc(documents, begins)
}

// openCSV opens a CSV file by its head.
func openCSV(file io.ReaderAt, size int64, head []byte, encoding string) (*csvRecords, error) {
	if isOther(head) {
		return nil, broken("no_list")
	}
	known := cmp.Or(charmapOf(encoding), charmaps[0].chars)
	open := func(comma byte, size int64) *csvRecords {
		return &csvRecords{lines: newLines(utf8Reader(io.NewSectionReader(file, 0, size), head)), comma: comma, encoding: known}
	}
	sampled := min(size, sampleBytes)
	comma, before, err := preamble(open(',', sampled))
	if err != nil {
		return nil, err
	}
	commas := []byte(separators)
	if comma != 0 {
		commas = []byte{comma}
	}
	comma, err = separator(commas, func(comma byte) (*csvRecords, error) { return open(comma, sampled).after(before) })
	if err != nil {
		return nil, err
	}
	return open(comma, size).after(before)
}

// after takes the first lines.
func (c *csvRecords) after(count int) (*csvRecords, error) {
	for range count {
		first, err := c.lines.at(0)
		if err != nil {
			return nil, err
		}
		c.use(first.next, 1)
	}
	return c, nil
}
