package people

import (
	"io"
	"slices"
	"strings"

	"campaign-dispatch/internal/intake/sheet"
	"campaign-dispatch/internal/phone/e164"
)

// phoneColumns are the names of a column of phone numbers.
var phoneColumns = []string{"phone", "telefone", "celular", "fone", "número", "numero", "whatsapp", "msisdn"}

// readNumbers returns the different numbers of a CSV file with commas, semicolons or tabs,
// in UTF-8 or Windows-1252, and how many lines have none. fault is the key of a text if the
// file cannot be used.
func readNumbers(file io.ReaderAt, size int64) (numbers []e164.Number, skipped int, fault string) {
	seen, column := map[e164.Number]bool{}, -1
	for cells, err := range sheet.Lines(file, size) {
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

// numberIn returns the number in a column, or 0. written is false for a header.
func numberIn(cells []string, column int) (number e164.Number, written bool) {
	if column >= len(cells) {
		return 0, true
	}
	text := strings.TrimSpace(cells[column])
	number, rejection := parse(text)
	if rejection != nil {
		return 0, !isPhoneColumn(text)
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
