package intake

import (
	"encoding/binary"

	"campaign-dispatch/internal/intake/sheet"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/phone"
)

// waitingLine is a line that waits for its part. Lines of many cells wait at once, so all its texts are in one string.
type waitingLine struct {
	line     int
	number   uint64
	texts    string // those of textsOf and the values of the columns, each after its length
	ansi     bool
	repeated bool // an earlier line has its number
}

// textsOf returns the texts of a message beside its variables.
func textsOf(m *submission.Message) []*string {
	return []*string{&m.Phone, &m.Written, &m.Cell, &m.UID}
}

// lineOf returns a line as it waits for its part, and the size of its values in bytes.
func (r *reader) lineOf(row sheet.Row, number phone.Typed, written string) (l waitingLine, weight int) {
	m := submission.Message{
		Phone: number.Text, Written: written, Cell: row.ID(r.Columns.Phone), UID: valueOf(row.ID(r.Columns.UID)),
	}
	weight = m.Weight()
	b := r.texts[:0]
	for _, text := range textsOf(&m) {
		b = appendText(b, *text)
	}
	for _, v := range r.Columns.Values {
		value := valueOf(row.Cell(v.Column))
		b, weight = appendText(b, value), weight+len(value)
	}
	r.texts = b
	return waitingLine{line: row.Line, number: uint64(number.Number), texts: string(b), ansi: row.ANSI}, weight
}

// messageOf returns the message of a line. Cells without a value are left out of its variables: an empty value
// would break the greeting.
func (r *reader) messageOf(l waitingLine) submission.Message {
	m := submission.Message{Line: l.line, Number: l.number, ANSI: l.ansi, Vars: make(map[string]string, len(r.Columns.Values))}
	rest := l.texts
	for _, text := range textsOf(&m) {
		*text, rest = cutText(rest)
	}
	for _, v := range r.Columns.Values {
		var text string
		if text, rest = cutText(rest); text != "" {
			m.Vars[v.Name] = text
		}
	}
	return m
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// cutText returns the first text that appendText has written, and what follows it.
func cutText(texts string) (first, rest string) {
	length, size := binary.Uvarint([]byte(texts[:min(len(texts), binary.MaxVarintLen64)]))
	end := size + int(length) //nolint:gosec // written by appendText
	return texts[size:end], texts[end:]
}
