package sheet

import (
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/phone"
	"campaign-dispatch/internal/phone/e164"
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

// Noted returns the kind of an accepted number that a person should look at, "" for others. country is that of KindAbroad.
// written is that of NumberOf.
func Noted(n e164.Number, written string) (kind submission.Kind, country string) {
	switch {
	case !n.Brazilian():
		return submission.KindAbroad, phone.Country(n)
	case written != "" && phone.ReadTyped(written).GotNine(n):
		return submission.KindNine, ""
	}
	return "", ""
}
