package campaign

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrorLine is one line of an error file: a rejected message, or the names of the
// columns.
type ErrorLine struct{ Line, Phone, UID, Code, Reason string }

// ErrorFileHeader is the first line of an error file.
var ErrorFileHeader = ErrorLine{"line", "phone", "uid", "code", "reason"}

// AppendTo appends the line to a file as CSV (RFC 4180). Every cell is quoted and
// harmless in a spreadsheet that separates cells at semicolons, too. A line that
// was read from an error file may be appended again.
func (l ErrorLine) AppendTo(file []byte) []byte {
	phone := l.Phone
	if !plainNumber(phone) {
		phone = harmless(phone)
	}
	for i, cell := range [...]string{l.Line, phone, harmless(l.UID), l.Code, harmless(l.Reason)} {
		if i > 0 {
			file = append(file, ',')
		}
		file = append(file, '"')
		file = append(file, strings.ReplaceAll(cell, `"`, `""`)...)
		file = append(file, '"')
	}
	return append(file, "\r\n"...)
}

// plainNumber reports whether a phone is a + and digits only.
func plainNumber(phone string) bool {
	digits, plus := strings.CutPrefix(phone, "+")
	return plus && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// formulaSigns begin a formula; the full-width and small forms do in East Asian
// settings.
const formulaSigns = "=+-@＝＋－＠﹦﹢﹣﹫"

// harmless puts an apostrophe before every formula sign of a cell with which a
// spreadsheet may begin a cell: at the start, after a semicolon and after a control
// character, a line break for one, with nothing but white space, invisible
// characters and quotes in between; and before a tab or line break at the start.
// Where semicolons separate the cells of a file, the quotes of RFC 4180 do not keep
// a cell together.
func harmless(cell string) string {
	if ordinary(cell) {
		return cell
	}
	var safe strings.Builder
	if strings.ContainsRune("\t\r\n", rune(cell[0])) {
		safe.WriteByte('\'')
	}
	atStart := true
	for i := 0; i < len(cell); {
		c, size := utf8.DecodeRuneInString(cell[i:])
		if atStart && strings.ContainsRune(formulaSigns, c) {
			safe.WriteByte('\'')
		}
		safe.WriteString(cell[i : i+size])
		i += size
		atStart = separates(c) || atStart && leads(c)
	}
	return safe.String()
}

// ordinary reports whether a cell begins with a letter or a digit and holds nothing
// that separates: it decides for most cells without looking at their characters.
func ordinary(cell string) bool {
	if cell == "" {
		return true
	}
	if first := cell[0] | 0x20; (cell[0] < '0' || cell[0] > '9') && (first < 'a' || first > 'z') {
		return false
	}
	for i := range len(cell) {
		switch c := cell[i]; {
		case c < ' ', c == ';', c == 0x7f,
			c == 0xc2, c == 0xe2: // the first bytes of the other separators
			return false
		}
	}
	return true
}

func separates(c rune) bool {
	return c == ';' || unicode.IsControl(c) || c == '\u2028' || c == '\u2029'
}

// leads reports whether a spreadsheet may drop or overlook a character at the start
// of a cell.
func leads(c rune) bool {
	return c == '"' || unicode.IsSpace(c) || unicode.Is(unicode.Cf, c)
}
