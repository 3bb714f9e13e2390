package numberformat

import (
	"bytes"
	"strconv"
	"strings"
)

// decimal is a number that is not negative: 0.digits × 10^point. The digits have no zeros at their ends.
type decimal struct {
	digits string
	point  int
}

// decimalOf returns the decimal of a number as spreadsheets read it, with the digits that they keep.
func decimalOf(v float64) decimal {
	var room [32]byte
	text := strconv.AppendFloat(room[:0], v, 'e', significant-1, 64) // d.dd…e±dd
	const behind = significant + 1
	exponent, _ := strconv.Atoi(string(text[behind+1:]))
	text[1] = text[0]
	digits := bytes.TrimRight(text[1:behind], "0")
	if len(digits) == 0 {
		return decimal{}
	}
	return decimal{string(digits), exponent + 1}
}

// round returns the decimal with a number of decimals. Halves are rounded away from zero.
func (d decimal) round(decimals int) decimal {
	keep := d.point + decimals
	switch {
	case keep >= len(d.digits):
		return d
	case keep < 0:
		return decimal{}
	}
	up := d.digits[keep] >= '5'
	digits := []byte(strings.TrimRight(d.digits[:keep], "9"))
	if !up {
		digits = []byte(d.digits[:keep])
	}
	switch {
	case up && len(digits) == 0:
		return decimal{"1", d.point + 1}
	case up:
		digits[len(digits)-1]++
	}
	trimmed := strings.TrimRight(string(digits), "0")
	if trimmed == "" {
		return decimal{}
	}
	return decimal{trimmed, d.point}
}

// parts returns the digits before and behind the comma, without zeros at the ends.
func (d decimal) parts() (whole, fraction string) {
	switch {
	case d.point <= 0:
		return "", strings.Repeat("0", min(-d.point, maxCode)) + d.digits
	case d.point >= len(d.digits):
		return d.digits + strings.Repeat("0", d.point-len(d.digits)), ""
	}
	return d.digits[:d.point], d.digits[d.point:]
}

// number shows a number that is not negative.
func (s *section) number(v float64) string {
	d := decimalOf(v)
	d.point += s.scale
	if d.digits == "" {
		d.point = 0
	}
	shown := make([]byte, 0, 32) //nolint:mnd // room for most numbers
	return s.tidy(string(s.layOut(shown, s.tokens, d.round(s.decimals))))
}

// layOut appends a rounded number in the places of tokens.
func (s *section) layOut(shown []byte, tokens []token, d decimal) []byte {
	whole, fraction := d.parts()
	left, decimals := s.whole, 0
	for i, t := range tokens {
		switch {
		case t.kind == point && i == s.point:
			if s.whole == 0 {
				shown = append(shown, whole...)
			}
			shown = append(shown, ',')
		case t.kind == digit && i > s.point:
			shown = appendDecimal(shown, fraction, decimals, t.text)
			decimals++
		case t.kind == digit:
			shown = s.appendWhole(shown, whole, left, t.text)
			left--
		default:
			shown = append(shown, t.text...)
		}
	}
	return shown
}

func appendDecimal(shown []byte, fraction string, at int, placeholder string) []byte {
	if at < len(fraction) {
		return append(shown, fraction[at])
	}
	return append(shown, missing(placeholder)...)
}

// appendWhole appends the digit of a placeholder, with left placeholders up to the comma. The first one has all digits
// without a placeholder of their own.
func (s *section) appendWhole(shown []byte, whole string, left int, placeholder string) []byte {
	first := left - 1
	if left == s.whole {
		first = max(first, len(whole)-1)
	}
	for place := first; place >= left-1; place-- {
		switch at := len(whole) - 1 - place; {
		case at >= 0:
			shown = append(shown, whole[at])
		case placeholder != "0":
			shown = append(shown, missing(placeholder)...)
			continue
		default:
			shown = append(shown, '0')
		}
		if s.grouped && place > 0 && place%3 == 0 {
			shown = append(shown, '.')
		}
	}
	return shown
}

// missing is what a placeholder shows that has no digit.
func missing(placeholder string) string {
	switch placeholder {
	case "0":
		return "0"
	case "?":
		return " "
	}
	return ""
}

// scientific shows a number with an exponent. Several placeholders before the comma make it a multiple of their number.
func (s *section) scientific(v float64) string {
	d := decimalOf(v)
	step := max(1, s.whole)
	power := 0
	if d.digits != "" {
		power = floorTo(d.point-1, step)
		d.point -= power
		if d = d.round(s.decimals); d.point > step {
			d.point -= step
			power += step
		}
	}
	shown := s.layOut(nil, s.tokens[:s.exponent], d)
	shown = append(shown, 'E')
	switch sign := s.tokens[s.exponent].text; {
	case power < 0:
		shown = append(shown, '-')
	case sign == "+":
		shown = append(shown, '+')
	}
	digits, rest := countDigits(s.tokens[s.exponent+1:])
	shown = appendPadded(shown, max(power, -power), digits)
	for _, t := range rest {
		shown = append(shown, t.text...)
	}
	return s.tidy(string(shown))
}

// floorTo returns the greatest multiple of step that is not above n.
func floorTo(n, step int) int {
	rest := n % step
	if rest < 0 {
		rest += step
	}
	return n - rest
}

// countDigits counts the placeholders at the beginning, and returns what follows them.
func countDigits(tokens []token) (n int, rest []token) {
	for n < len(tokens) && tokens[n].kind == digit {
		n++
	}
	return n, tokens[n:]
}

// appendPadded appends a number with at least width digits.
func appendPadded(shown []byte, n, width int) []byte {
	text := strconv.Itoa(n)
	for range width - len(text) {
		shown = append(shown, '0')
	}
	return append(shown, text...)
}
