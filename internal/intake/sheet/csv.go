package sheet

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/transform"
)

type csvRecords struct {
	reader  *csv.Reader
	limit   *lineLimit
	text    *decoder
	skipped int // lines before the header
}

// otherFormats begin pictures and documents.
var otherFormats = []string{"\xff\xd8\xff", "\x89PNG", "GIF8", "RIFF", "%PDF"}

func openCSV(file io.Reader, head []byte) (*csvRecords, error) {
	if slices.ContainsFunc(otherFormats, func(magic string) bool { return bytes.HasPrefix(head, []byte(magic)) }) {
		return nil, broken("no_list")
	}
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		return nil, broken("utf16")
	}
	mark := []byte("\ufeff")
	if bytes.HasPrefix(head, mark) {
		head = head[len(mark):]
		if _, err := io.CopyN(io.Discard, file, int64(len(mark))); err != nil {
			return nil, err
		}
	}
	c := &csvRecords{text: &decoder{}}
	content := transform.NewReader(file, c.text)
	buffered := bufio.NewReaderSize(content, headSize)
	if !bytes.Contains(head, []byte("\n")) {
		buffered = bufio.NewReaderSize(&macLines{buffered}, headSize)
		head = bytes.ReplaceAll(head, []byte("\r"), []byte("\n"))
	}
	comma, skipped := separator(head)
	if skipped > 0 {
		if _, err := buffered.ReadString('\n'); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
	}
	c.limit = &lineLimit{r: buffered, comma: []byte(string(comma))}
	c.reader = csv.NewReader(c.limit)
	c.reader.Comma, c.reader.FieldsPerRecord, c.reader.ReuseRecord = comma, -1, true
	c.skipped = skipped
	return c, nil
}

func (c *csvRecords) next() (int, []string, error) {
	cells, err := c.reader.Read()
	if wrong, ok := errors.AsType[*csv.ParseError](err); ok {
		return 0, nil, broken("quotes", wrong.Line+c.skipped)
	}
	if errors.Is(err, errLongLine) {
		line, _ := c.reader.FieldPos(0)
		return 0, nil, broken("many_columns", line+1+c.skipped, MaxColumns)
	}
	if err != nil {
		return 0, nil, err
	}
	c.limit.begun = c.reader.InputOffset()
	line, _ := c.reader.FieldPos(0)
	return line + c.skipped, cells, nil
}

func (c *csvRecords) ansi() bool { return c.text.ansi }

// separator returns the cell separator: the one in Excel's line sep=; or else the most
// frequent one in the header. It also returns the number of lines before the header.
func separator(head []byte) (comma rune, skipped int) {
	first, _, _ := strings.Cut(string(head), "\n")
	first = strings.TrimSuffix(first, "\r")
	if sep, said := strings.CutPrefix(strings.ToLower(first), "sep="); said && (sep == "," || sep == ";" || sep == "\t" || sep == "|") {
		return rune(sep[0]), 1
	}
	comma = ','
	for _, candidate := range ";\t" {
		if strings.Count(first, string(candidate)) > strings.Count(first, string(comma)) {
			comma = candidate
		}
	}
	return comma, 0
}

// macLines converts the line ends of old Macs, which Excel's "CSV (Macintosh)" also writes.
type macLines struct{ r io.Reader }

func (m *macLines) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	for i, b := range p[:n] {
		if b == '\r' {
			p[i] = '\n'
		}
	}
	return n, err
}

var errLongLine = errors.New("a line is too long")

// lineLimit refuses lines of more than maxRecord bytes or maxSeparators separators, among
// them those of an open quote. Otherwise the CSV reader would hold the rest of the file.
type lineLimit struct {
	r          io.Reader
	comma      []byte
	offset     int64 // read so far
	begun      int64 // where the current record begins
	separators int   // since the last line end
}

func (l *lineLimit) Read(p []byte) (int, error) {
	if l.offset-l.begun > maxRecord {
		return 0, errLongLine
	}
	n, err := l.r.Read(p)
	l.offset += int64(n)
	for rest := p[:n]; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		if l.separators += bytes.Count(line, l.comma); l.separators > maxSeparators {
			return 0, errLongLine
		}
		if ended {
			l.separators = 0
		}
		rest = after
	}
	return n, err
}

// decoder decodes UTF-8 or Windows-1252. The first character beyond ASCII decides.
type decoder struct {
	transform.NopResetter
	utf8, ansi bool
}

var errUnreadable = broken("unreadable")

func (d *decoder) Transform(dst, src []byte, atEOF bool) (nDst, nSrc int, err error) {
	for nSrc < len(src) {
		if nDst+utf8.UTFMax > len(dst) {
			return nDst, nSrc, transform.ErrShortDst
		}
		switch b := src[nSrc]; {
		case b == 0:
			return nDst, nSrc, broken("utf16")
		case b < utf8.RuneSelf:
			dst[nDst] = b
			nDst++
			nSrc++
		case d.ansi:
			r := charmap.Windows1252.DecodeByte(b)
			if r == utf8.RuneError {
				return nDst, nSrc, errUnreadable
			}
			nDst += utf8.EncodeRune(dst[nDst:], r)
			nSrc++
		default:
			if !atEOF && !utf8.FullRune(src[nSrc:]) {
				return nDst, nSrc, transform.ErrShortSrc
			}
			r, size := utf8.DecodeRune(src[nSrc:])
			if r == utf8.RuneError && size <= 1 {
				if d.utf8 {
					return nDst, nSrc, errUnreadable
				}
				d.ansi = true
				continue
			}
			d.utf8 = true
			nDst += copy(dst[nDst:], src[nSrc:nSrc+size])
			nSrc += size
		}
	}
	return nDst, nSrc, nil
}
