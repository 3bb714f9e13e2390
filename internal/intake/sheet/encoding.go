package sheet

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	utf16 "golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"campaign-dispatch/internal/intake/submission"
)

// charmaps are the encodings of lines that are not UTF-8: those of Windows, of old Macs and of DOS. The first is that of
// a file whose encoding is not known yet.
var charmaps = []struct {
	name  string
	chars *charmap.Charmap
}{
	{"windows-1252", charmap.Windows1252},
	{"macintosh", charmap.Macintosh},
	{"ibm850", charmap.CodePage850},
}

// KnownEncoding reports whether lines can be in an encoding.
func KnownEncoding(name string) bool { return charmapOf(name) != nil }

// charmapOf returns nil for an unknown encoding.
func charmapOf(name string) *charmap.Charmap {
	for _, known := range charmaps {
		if known.name == name {
			return known.chars
		}
	}
	return nil
}

// decoded returns a text that is not UTF-8. A byte without a character becomes U+FFFD.
func decoded(chars *charmap.Charmap, text string) string {
	var b strings.Builder
	b.Grow(len(text) + len(text)/2)
	plain := 0 // where the last ASCII begins
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			b.WriteString(text[plain:i])
			b.WriteRune(chars.DecodeByte(text[i]))
			plain = i + 1
		}
	}
	b.WriteString(text[plain:])
	return b.String()
}

// Encodings returns the encodings of the lines of a CSV file that are not UTF-8, with the words that they make of the
// first ones: none if there are no such lines, the one if it is clear, and else those among which a person chooses.
func Encodings(ctx context.Context, file io.ReaderAt, size int64) ([]submission.EncodingChoice, error) {
	head, err := headOf(file, size)
	if err != nil || !isCSV(head) {
		return nil, err
	}
	c, err := openCSV(file, size, head, "")
	if err != nil {
		return nil, err
	}
	c.guess = newGuess()
	for ctx.Err() == nil {
		_, _, err := c.next()
		if errors.Is(err, io.EOF) {
			return c.guess.choices(c.used > 1 && !c.lines.feeds), nil
		}
		if _, faulty := errors.AsType[lineFault](err); err != nil && !faulty {
			return nil, err
		}
	}
	return nil, ctx.Err()
}

// Likely returns how a file is read if nobody can be asked.
func Likely(ctx context.Context, file io.ReaderAt, size int64) (reading submission.Reading, err error) {
	choices, err := Encodings(ctx, file, size)
	if len(choices) > 0 {
		reading.Encoding = choices[0].Name
	}
	return reading, err
}

// UTF8 returns a file as text, and UTF-16 as UTF-8. The lines of other encodings stay as they are.
func UTF8(file []byte) []byte {
	text, err := io.ReadAll(utf8Reader(bytes.NewReader(file), file))
	if err != nil {
		return file
	}
	return text
}

// isCSV reports whether a file is none of the others by its head.
func isCSV(head []byte) bool {
	return !bytes.HasPrefix(head, zipMagic) && !bytes.HasPrefix(head, oldMagic)
}

// utf8Reader returns a reader that converts UTF-16, as Excel writes it, by the head of a file.
func utf8Reader(r io.Reader, head []byte) io.Reader {
	order := utf16.LittleEndian
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")), everyOther(head, 1):
	case bytes.HasPrefix(head, []byte("\xfe\xff")), everyOther(head, 0):
		order = utf16.BigEndian
	default:
		return r
	}
	return transform.NewReader(r, utf16.UTF16(order, utf16.IgnoreBOM).NewDecoder())
}

// everyOther reports whether every other byte is NUL, from one on: ASCII in UTF-16.
func everyOther(head []byte, from int) bool {
	const few = 8
	start := head[:min(len(head), 512)&^1]
	nuls, others := 0, 0
	for at, b := range start {
		switch {
		case b != 0:
		case at%2 == from:
			nuls++
		default:
			others++
		}
	}
	return others == 0 && nuls > len(start)/4 && len(start) >= few
}

// guess finds the encoding of texts.
type guess struct {
	readings []reading
	seen     [256]bool // bytes beyond ASCII
	words    []string  // the first, as they are in the file
}

func newGuess() *guess { return &guess{readings: make([]reading, len(charmaps))} }

// likeness is how much a text is like one that a Brazilian has written.
type likeness int

const (
	usual    likeness = iota
	mixed             // JOSé, as programs write that know only ASCII
	unlikely          // JosÉ
	wrong
)

// reading is what an encoding makes of all texts.
type reading struct {
	worst        likeness
	signs        bool // whether it has signs
	weak         int  // signs that are rather letters of another encoding
	own, foreign int  // letters of Portuguese and of other languages
}

const (
	portuguese = "áàâãéêíóôõúüçÁÀÂÃÉÊÍÓÔÕÚÜÇ"
	foreign    = "ñäëïöèìòùîûÿýåÑÄËÏÖÈÌÒÙÎÛÝÅ"
)

func (g *guess) add(text string) {
	for i := range len(text) {
		g.seen[text[i]] = g.seen[text[i]] || text[i] >= utf8.RuneSelf
	}
	for n := range g.readings {
		if r := &g.readings[n]; r.worst < wrong {
			r.add(charmaps[n].chars, text)
		}
	}
	if len(g.words) < maxWords {
		g.words = addWords(g.words, text)
	}
}

func (r *reading) add(chars *charmap.Charmap, text string) {
	at := func(i int) rune {
		if i < 0 || i >= len(text) {
			return ' '
		}
		return chars.DecodeByte(text[i])
	}
	for i := range len(text) {
		if text[i] < utf8.RuneSelf {
			continue
		}
		switch c := at(i); {
		case strings.ContainsRune(portuguese, c):
			r.own++
			r.worst = max(r.worst, letterIn(at(i-2), at(i-1), c, at(i+1)))
		case strings.ContainsRune(foreign, c):
			r.foreign++
			r.worst = max(r.worst, letterIn(at(i-2), at(i-1), c, at(i+1)))
		default:
			r.signs = true
			if weakSign(at(i-1), c, at(i+1)) {
				r.weak++
			}
			r.worst = max(r.worst, signIn(at(i-1), c, at(i+1)))
		}
	}
}

// letterIn judges a letter by those around it.
func letterIn(second, before, c, after rune) likeness {
	accented := before > unicode.MaxASCII && unicode.IsLetter(before)
	switch {
	case unicode.IsDigit(before), unicode.IsDigit(after), accented && second > unicode.MaxASCII && unicode.IsLetter(second):
		return wrong
	case !unicode.IsLetter(before) && !unicode.IsLetter(after) && !strings.ContainsRune("àáéóêÀÁÉÓÊ", c):
		return wrong
	case unicode.IsUpper(c):
		if unicode.IsLower(before) || unicode.IsUpper(before) && unicode.IsLower(after) {
			return unlikely
		}
		return usual
	case unicode.IsUpper(after) && !unicode.IsUpper(before) && !accented:
		return unlikely
	case unicode.IsUpper(after), unicode.IsUpper(before) && unicode.IsLetter(second):
		return mixed
	}
	return usual
}

// weakSign reports whether a sign is rather a letter: JOS… is JOSÉ, and a space within a word is á.
func weakSign(before, c, after rune) bool {
	return c == '…' && unicode.IsUpper(before) || c == '\u00a0' && unicode.IsLower(before) && unicode.IsLower(after)
}

// signIn judges a sign by the characters around it.
func signIn(before, c, after rune) likeness {
	follows, leads := unicode.IsLetter(before), unicode.IsLetter(after)
	number := unicode.IsDigit(before) || before == '.'
	fits := false
	switch c {
	case 'º', 'ª':
		fits = (follows || number) && !leads
	case '°':
		fits = (number || before == ' ') && !leads || after == 'C' || follows && !leads
	case '’', '´':
		fits = follows
	case '‘', '“', '«':
		fits = !follows && !number && after != ' '
	case '”', '»':
		fits = !leads && before != ' '
	case '…':
		fits = !leads
	case '\u00a0':
		fits = true
	case '–', '—':
		if follows && leads {
			return mixed
		}
		fits = true
	case '€', '§', '½', '¼', '¾', '×', '•', '·':
		fits = !follows && !leads
	case '®', '©', '™', '²', '³':
		fits = !leads
	}
	if fits {
		return usual
	}
	return wrong
}

// likeness judges all texts. Weak signs count if there are few letters.
func (r reading) likeness() likeness {
	switch {
	case 2*r.weak > r.own:
		return max(r.worst, unlikely)
	case r.weak > 0:
		return max(r.worst, mixed)
	}
	return r.worst
}

// pure reports whether a reading has no letters of other languages.
func (r reading) pure(worst likeness) bool { return r.likeness() <= worst && r.foreign == 0 }

// clear returns the only encoding that fits, or -1. Letters that Portuguese does not use fit beside more that it uses, if
// no other encoding can be.
func (g *guess) clear() int {
	var fit, possible []int
	for n, r := range g.readings {
		if r.pure(mixed) {
			fit = append(fit, n)
		}
		if r.likeness() < wrong && r.foreign <= r.own {
			possible = append(possible, n)
		}
	}
	switch {
	case len(fit) == 0 && len(possible) == 1 && g.readings[possible[0]].likeness() <= mixed:
		return possible[0]
	case len(fit) == 0, len(fit) > 1 && !g.same(fit):
		return -1
	}
	if r := g.readings[fit[0]]; r.likeness() > usual || r.signs {
		for n, rival := range g.readings {
			if !slices.Contains(fit, n) && rival.pure(unlikely) {
				return -1
			}
		}
	}
	return fit[0]
}

// same reports whether encodings make the same of all bytes.
func (g *guess) same(of []int) bool {
	for b, seen := range g.seen {
		if seen && slices.ContainsFunc(of, func(n int) bool {
			return charmaps[n].chars.DecodeByte(byte(b)) != charmaps[of[0]].chars.DecodeByte(byte(b)) //nolint:gosec // below 256
		}) {
			return false
		}
	}
	return true
}

const macintosh = 1 // of the charmaps

// choices returns the encodings. Only programs of Macs end lines with \r alone.
func (g *guess) choices(mac bool) (all []submission.EncodingChoice) {
	if len(g.words) == 0 {
		return nil
	}
	only := g.clear()
	if only < 0 && mac && g.readings[macintosh].pure(mixed) {
		only = macintosh
	}
	for n, known := range charmaps {
		if only >= 0 && only != n {
			continue
		}
		choice := submission.EncodingChoice{Name: known.name}
		for _, word := range g.words {
			choice.Words = append(choice.Words, Cut(decoded(known.chars, word), maxWord))
		}
		alike := func(other submission.EncodingChoice) bool { return slices.Equal(other.Words, choice.Words) }
		if !slices.ContainsFunc(all, alike) {
			all = append(all, choice)
		}
	}
	return all
}
