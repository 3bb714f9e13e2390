package numberformat

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	secondsOfDay = 24 * 60 * 60
	lastDay      = 2958466 // the year 10000
	systemDate   = "f800"  // the long date of the system
	systemTime   = "f400"
)

var (
	longDate = scan(`dddd, d "de" mmmm "de" yyyy`)[0]
	longTime = scan(`hh:mm:ss`)[0]
)

// minutes is the letter of minutes, which formats write as months.
const minutes = "n"

// dateTokens prepares the tokens of a date: of an m, whether it is a month or minutes; of decimals, that they are of
// seconds; the others are texts.
func (s *section) dateTokens() {
	switch {
	case strings.HasSuffix(s.language, systemDate), s.language == "x-sysdate":
		s.tokens = longDate
	case strings.HasSuffix(s.language, systemTime), s.language == "x-systime":
		s.tokens = longTime
	}
	var kept []token
	for i := 0; i < len(s.tokens); i++ {
		switch t := s.tokens[i]; t.kind { //nolint:exhaustive // a date shows no others
		case datePart:
			kept = append(kept, s.datePart(i))
		case elapsed, halfOfDay, literal, blank:
			kept = append(kept, t)
		case point:
			n, _ := countDigits(s.tokens[i+1:])
			if i += n; n == 0 {
				kept = append(kept, token{literal, t.text})
				continue
			}
			s.decimals = min(n, 3)
			kept = append(kept, t)
		default:
			kept = append(kept, token{literal, t.text})
		}
	}
	s.tokens = kept
}

// datePart returns a part of a date, with the letter of minutes for an m behind hours or before seconds.
func (s *section) datePart(at int) token {
	t := s.tokens[at]
	if t.text != "m" && t.text != "mm" {
		return t
	}
	if s.neighbor(at, -1) == 'h' || s.neighbor(at, 1) == 's' {
		t.text = strings.Repeat(minutes, len(t.text))
	}
	return t
}

// neighbor returns the letter of the next part of a date in a direction, or 0.
func (s *section) neighbor(at, step int) byte {
	for i := at + step; i >= 0 && i < len(s.tokens); i += step {
		if t := s.tokens[i]; t.kind == datePart || t.kind == elapsed {
			return t.text[0]
		}
	}
	return 0
}

// moment is the time of a number.
type moment struct {
	year, month, day, weekday int
	seconds                   int // of the day
	elapsed                   int // seconds since day 0
	fraction                  int // of a second, in its decimals
}

// date shows the date or the time of a number, in the decimals of a second that the section has, or else in seconds.
func (s *section) date(v float64, value string, since1904 bool) string {
	if v < 0 || v >= lastDay {
		return Plain(value)
	}
	unit := int(math.Pow10(s.decimals))
	ticks := int(math.Round(v * secondsOfDay * float64(unit)))
	m := momentOf(ticks/unit/secondsOfDay, since1904)
	m.elapsed, m.fraction = ticks/unit, ticks%unit
	m.seconds = m.elapsed % secondsOfDay
	shown := make([]byte, 0, 32) //nolint:mnd // room for most dates
	for _, t := range s.tokens {
		shown = s.appendPart(shown, m, t)
	}
	return s.tidy(string(shown))
}

// momentOf returns the date of a day. Spreadsheets count a 29th of February in 1900 and a day before the first of
// January.
func momentOf(day int, since1904 bool) moment {
	const leap = 60      // the day that was not
	const between = 1462 // days from the beginning of 1900 to that of 1904
	switch {
	case since1904:
		day += between
	case day == 0:
		return moment{year: 1900, month: 1, weekday: int(time.Saturday)}
	case day == leap:
		return moment{year: 1900, month: 2, day: 29, weekday: int(time.Wednesday)}
	case day < leap:
		m := dateOf(day + 1)
		m.weekday = (day + 6) % 7
		return m
	}
	return dateOf(day)
}

// dateOf returns the date of a day after the 30th of December 1899.
func dateOf(day int) moment {
	const before1970 = 25569
	at := time.Unix(int64(day-before1970)*secondsOfDay, 0).UTC()
	year, month, dayOfMonth := at.Date()
	return moment{year: year, month: int(month), day: dayOfMonth, weekday: int(at.Weekday())}
}

func (s *section) appendPart(shown []byte, m moment, t token) []byte {
	width := len(t.text)
	switch t.kind { //nolint:exhaustive // the others are shown as they are
	case elapsed:
		return appendPadded(shown, m.elapsed/secondsOf(t.text[0]), width)
	case halfOfDay:
		return append(shown, half(t.text, m.hour())...)
	case point:
		shown = append(shown, ',')
		return appendPadded(shown, m.fraction, s.decimals)
	case datePart:
	default:
		return append(shown, t.text...)
	}
	switch t.text[0] {
	case 'y':
		return appendYear(shown, m.year, width)
	case 'm':
		return s.appendMonth(shown, m.month, width)
	case 'd':
		return s.appendDay(shown, m, width)
	case 'h':
		return appendPadded(shown, s.clockHour(m.hour()), min(width, 2))
	case 's':
		return appendPadded(shown, m.seconds%60, min(width, 2))
	}
	return appendPadded(shown, m.seconds/60%60, width)
}

func secondsOf(unit byte) int {
	switch unit {
	case 'h':
		return 60 * 60
	case 'm':
		return 60
	}
	return 1
}

func (m moment) hour() int { return m.seconds / 60 / 60 }

// clockHour returns the hour from 1 to 12 if the section says the half of the day.
func (s *section) clockHour(hour int) int {
	const noon = 12
	for _, t := range s.tokens {
		if t.kind == halfOfDay {
			return (hour+noon-1)%noon + 1
		}
	}
	return hour
}

// half returns the half of the day: AM or PM, A or P.
func half(halves string, hour int) string {
	before, after, _ := strings.Cut(halves, "/")
	const noon = 12
	if hour < noon {
		return before
	}
	return after
}

func appendYear(shown []byte, year, width int) []byte {
	if width <= 2 {
		return appendPadded(shown, year%100, 2)
	}
	return appendPadded(shown, year, 4)
}

var (
	months   = []string{"janeiro", "fevereiro", "março", "abril", "maio", "junho", "julho", "agosto", "setembro", "outubro", "novembro", "dezembro"}
	weekdays = []string{"domingo", "segunda-feira", "terça-feira", "quarta-feira", "quinta-feira", "sexta-feira", "sábado"}
)

func (s *section) appendMonth(shown []byte, month, width int) []byte {
	const short, long, letter = 3, 4, 5
	if width < short || width > letter {
		return appendPadded(shown, month, width)
	}
	name := months[month-1]
	if s.english() {
		name = time.Month(month).String()
	}
	switch width {
	case short:
		return append(shown, firstLetters(name, short)...)
	case letter:
		return append(shown, firstLetters(name, 1)...)
	}
	return append(shown, name...)
}

func (s *section) appendDay(shown []byte, m moment, width int) []byte {
	const short = 3
	if width < short {
		return appendPadded(shown, m.day, width)
	}
	name := weekdays[m.weekday]
	if s.english() {
		name = time.Weekday(m.weekday).String()
	}
	if width == short {
		name = firstLetters(name, short)
	}
	return append(shown, name...)
}

func firstLetters(name string, n int) string {
	end := 0
	for range n {
		_, size := utf8.DecodeRuneInString(name[end:])
		end += size
	}
	return name[:end]
}

// english reports whether the section is in English: by the name of the language, or by its number, whose last ten bits
// are the language.
func (s *section) english() bool {
	if strings.HasPrefix(s.language, "en-") {
		return true
	}
	const languageBits, english = 0x3ff, 0x09
	n, err := strconv.ParseUint(s.language, 16, 32)
	return err == nil && n&languageBits == english
}
