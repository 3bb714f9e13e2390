package sheet

import (
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/phone"
)

// NumberOf reads the number of a line. written is the cell if another number is read in its place, and else "".
func NumberOf(r submission.Reading, line int, cell string) (number phone.Typed, written string) {
	read := phone.ReadTyped(cell)
	number = read
	if corrected := r.Corrections[line]; corrected != "" && read.Rejection != nil {
		number = phone.ReadTyped(corrected)
	}
	if r.AddNine {
		number, _ = number.WithNine()
	}
	if number != read {
		written = cell
	}
	return number, written
}
