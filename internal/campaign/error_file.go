package campaign

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxEcho is the number of characters of a rejected phone or an unknown name that answers
// and error files repeat. The limit keeps an answer below API Gateway's maximum; no valid
// number is as long.
const MaxEcho = 100

const errorFileSeparator = ','

// ErrorFileBytes is the number of random bytes of which the name of an error file is made, and ErrorFileSuffix ends it.
const (
	ErrorFileBytes  = 33
	ErrorFileSuffix = ".csv"
)

const (
	errorFiles       = "errors/"
	plainNameLetters = 43 // of 32 bytes: an earlier release made such names, and its keys have the names themselves
)

// ErrorFileKey returns the key of an error file. The name is the only secret that the file's URL has, so the key has the
// name's SHA-256: a list of the keys opens no file.
func ErrorFileKey(name string) string {
	if len(name) == plainNameLetters+len(ErrorFileSuffix) {
		return errorFiles + name
	}
	sum := sha256.Sum256([]byte(name))
	return errorFiles + hex.EncodeToString(sum[:])
}

// ErrorLine is one line of an error file: a rejected message, or the header.
type ErrorLine struct{ Line, Phone, UID, Code, Reason string }

// ErrorFileHeader is the first line of an error file.
var ErrorFileHeader = ErrorLine{"line", "phone", "uid", "code", "reason"}

// ReadErrorFile returns the lines of an error file after its header. The error wraps ErrDamaged.
func ReadErrorFile(file []byte) (lines []ErrorLine, err error) {
	const columns = 5
	r := csv.NewReader(bytes.NewReader(file))
	r.FieldsPerRecord = columns
	rows, err := r.ReadAll()
	if err != nil || len(rows) == 0 {
		return nil, fmt.Errorf("error file: %w", ErrDamaged)
	}
	for _, row := range rows[1:] {
		lines = append(lines, ErrorLine{Line: row[0], Phone: row[1], UID: row[2], Code: row[3], Reason: row[4]})
	}
	return lines, nil
}

// AppendTo appends the line as CSV (RFC 4180). Every cell is quoted and escaped against
// formula injection, also in spreadsheets that split cells at semicolons. Lines read from
// an error file can be appended again.
func (l ErrorLine) AppendTo(file []byte) []byte {
	phone := l.Phone
	if !plainNumber(phone) {
		phone = harmless(phone, errorFileSeparator)
	}
	uid, reason := harmless(l.UID, errorFileSeparator), harmless(l.Reason, errorFileSeparator)
	return appendRow(file, errorFileSeparator, l.Line, phone, uid, l.Code, reason)
}

// AppendRow appends a line of cells as CSV. Every cell is quoted, and escaped against
// formula injection unless it is a phone number, which can be in groups. With semicolons,
// it is so in spreadsheets that split cells at commas too.
func AppendRow(file []byte, separator byte, cells ...string) []byte {
	for i, cell := range cells {
		if !plainNumber(cell) && !groupedNumber(cell) {
			cells[i] = harmless(cell, separator)
		}
	}
	return appendRow(file, separator, cells...)
}

func appendRow(file []byte, separator byte, cells ...string) []byte {
	for i, cell := range cells {
		if i > 0 {
			file = append(file, separator)
		}
		file = append(file, '"')
		file = append(file, strings.ReplaceAll(cell, `"`, `""`)...)
		file = append(file, '"')
	}
	return append(file, "\r\n"...)
}

// plainNumber reports whether the phone consists of a + and digits.
func plainNumber(phone string) bool {
	digits, plus := strings.CutPrefix(phone, "+")
	return plus && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// groupedNumber reports whether the phone is a country code and groups of digits, such as
// +55 11 91234-5678. Two numbers with a space between them are no formula.
func groupedNumber(phone string) bool {
	country, groups, spaced := strings.Cut(phone, " ")
	return spaced && plainNumber(country) && groups != "" && groups[0] >= '0' && groups[0] <= '9' &&
		strings.Trim(groups, "0123456789 -") == ""
}

// formulaSigns start a formula. The full-width and small forms do so in East Asian locales.
const formulaSigns = "=+-@＝＋－＠﹦﹢﹣﹫"

// harmless escapes a cell against formula injection. It inserts an apostrophe before each
// formula sign that a spreadsheet could read as the start of a cell: at the start, after a
// semicolon or after a control character, ignoring spaces, invisible characters and quotes.
// In a file with semicolons, a cell can start after a comma too: spreadsheets that split at
// another character than the file's separator ignore the quotes of RFC 4180. A leading tab
// or line break gets an apostrophe too.
func harmless(cell string, separator byte) string {
	if ordinary(cell, separator) {
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
		atStart = separates(c, separator) || atStart && leads(c)
	}
	return safe.String()
}

// WithoutEscapes returns a cell without the apostrophes that AppendRow has inserted, for files that come back. It cannot
// know them from others at the same places.
func WithoutEscapes(cell string) string {
	if strings.IndexByte(cell, '\'') < 0 {
		return cell
	}
	var text strings.Builder
	rest := cell
	if len(cell) > 1 && cell[0] == '\'' && strings.ContainsRune("\t\r\n", rune(cell[1])) {
		rest = cell[1:]
	}
	for atStart := true; rest != ""; {
		if sign, escaped := strings.CutPrefix(rest, "'"); atStart && escaped && strings.IndexAny(sign, formulaSigns) == 0 {
			rest = sign
		}
		c, size := utf8.DecodeRuneInString(rest)
		text.WriteString(rest[:size])
		rest, atStart = rest[size:], separates(c, ';') || atStart && leads(c)
	}
	return text.String()
}

// ordinary reports whether a cell starts with a letter or a digit and contains no
// separator. It is the fast path for most cells.
func ordinary(cell string, separator byte) bool {
	if cell == "" {
		return true
	}
	if first := cell[0] | 0x20; (cell[0] < '0' || cell[0] > '9') && (first < 'a' || first > 'z') {
		return false
	}
	for i := range len(cell) {
		switch c := cell[i]; {
		case c < ' ', c == ';', splitsCommas(c, separator), c == 0x7f,
			c == 0xc2, c == 0xe2: // first bytes of the multi-byte separators
			return false
		}
	}
	return true
}

func separates(c rune, separator byte) bool {
	return c == ';' || splitsCommas(c, separator) || unicode.IsControl(c) || c == '\u2028' || c == '\u2029'
}

// splitsCommas reports whether the character is a comma in a file with semicolons.
func splitsCommas[T byte | rune](c T, separator byte) bool { return c == ',' && separator == ';' }

// leads reports whether a spreadsheet may ignore the character at the start of a cell.
func leads(c rune) bool {
	return c == '"' || unicode.IsSpace(c) || unicode.Is(unicode.Cf, c)
}
