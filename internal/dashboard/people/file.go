package people

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"campaign-dispatch/internal/phone/e164"
)

// phoneColumns are the names of a column of phone numbers.
var phoneColumns = []string{"phone", "telefone", "celular", "fone", "número", "numero", "whatsapp", "msisdn"}

// readNumbers returns the different numbers of a CSV file with commas, semicolons or tabs,
// in UTF-8 or Windows-1252, and how many lines have none. fault is the key of a text if the
// file cannot be used.
func readNumbers(file []byte) (numbers []e164.Number, skipped int, fault string) {
	content, ok := decode(file)
	if !ok {
		return nil, 0, "people.fault.unreadable"
	}
	r := csv.NewReader(strings.NewReader(content))
	r.Comma, r.FieldsPerRecord, r.ReuseRecord = separator(content), -1, true
	seen, column := map[e164.Number]bool{}, -1
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, 0, "people.fault.unreadable"
		}
		if column < 0 {
			if column = phoneColumn(cells); column < 0 {
				return nil, 0, "people.fault.column"
			}
		}
		switch number, written := numberIn(cells, column); {
		case number == 0 && written:
			skipped++
		case number != 0 && !seen[number]:
			seen[number] = true
			numbers = append(numbers, number)
		}
	}
	if len(numbers) == 0 {
		return nil, skipped, "people.fault.no_numbers"
	}
	return numbers, skipped, ""
}

// numberIn returns the number in a column, or 0. written is false for an empty line and for
// a header.
func numberIn(cells []string, column int) (number e164.Number, written bool) {
	if column >= len(cells) {
		return 0, strings.Join(cells, "") != ""
	}
	text := strings.TrimSpace(cells[column])
	number, rejection := parse(text)
	if rejection != nil {
		return 0, strings.TrimSpace(strings.Join(cells, "")) != "" && !isPhoneColumn(text)
	}
	return number, true
}

// phoneColumn returns the column of the phone numbers by the first line: the one with a
// known name, or the only one. It returns -1 if there is none.
func phoneColumn(first []string) int {
	if named := slices.IndexFunc(first, isPhoneColumn); named >= 0 || len(first) != 1 {
		return named
	}
	return 0
}

func isPhoneColumn(cell string) bool {
	return slices.Contains(phoneColumns, strings.ToLower(strings.TrimSpace(cell)))
}

// decode returns the file as UTF-8 without a byte order mark. ok is false for workbooks and
// other files that are not text.
func decode(file []byte) (content string, ok bool) {
	if bytes.HasPrefix(file, []byte("PK\x03\x04")) || bytes.IndexByte(file, 0) >= 0 {
		return "", false
	}
	file = bytes.TrimPrefix(file, []byte("\ufeff"))
	if !utf8.Valid(file) {
		decoded, err := charmap.Windows1252.NewDecoder().Bytes(file)
		if err != nil {
			return "", false
		}
		file = decoded
	}
	content = string(file)
	if !strings.Contains(content, "\n") {
		content = strings.ReplaceAll(content, "\r", "\n")
	}
	return content, true
}

// separator returns the most frequent separator of the first line.
func separator(content string) rune {
	first, _, _ := strings.Cut(content, "\n")
	comma := ','
	for _, candidate := range ";\t" {
		if strings.Count(first, string(candidate)) > strings.Count(first, string(comma)) {
			comma = candidate
		}
	}
	return comma
}
