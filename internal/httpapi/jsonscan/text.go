package jsonscan

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// chunk is the initial buffer size for unescaped strings.
const chunk = 4096

// margin is the space that one step of unescape may write: a word, seven bytes of which
// are kept, and a character.
const margin = 16

// quoted reads the string at the scanner's position.
func (s *Scanner) quoted() ([]byte, error) {
	s.replaced = false
	start := s.pos + 1
	for i := start; ; {
		i = plain(s.data, i)
		if i == len(s.data) {
			return nil, s.unterminated()
		}
		switch s.data[i] {
		case '"':
			s.pos = i + 1
			return s.data[start:i:i], nil
		case '\\':
			return s.unescape(start, i)
		default:
			size, err := s.character(i)
			if err != nil {
				return nil, err
			}
			i += size
		}
	}
}

// unescape continues quoted at the first escape of the string. It copies eight bytes at
// a time and keeps those before the first special byte.
func (s *Scanner) unescape(start, i int) ([]byte, error) {
	dst := s.room(nil, i-start, i)
	n := copy(dst, s.data[start:i])
	for i < len(s.data) {
		if n+margin > len(dst) {
			dst = s.room(dst[:n], 0, i)
		}
		var k int
		if len(s.data)-i >= 8 {
			word := binary.LittleEndian.Uint64(s.data[i:])
			binary.LittleEndian.PutUint64(dst[n:], word)
			if k = firstSpecial(word); k == 8 {
				n, i = n+8, i+8
				continue
			}
		}
		n, i = n+k, i+k
		switch s.data[i] {
		case '"':
			s.pos, s.spare = i+1, dst[n:]
			return dst[:n:n], nil
		case '\\':
			if i+1 < len(s.data) && short[s.data[i+1]] != 0 {
				dst[n] = short[s.data[i+1]]
				n, i = n+1, i+2
				continue
			}
			size, read, err := s.escape(dst[n:], i)
			if err != nil {
				return nil, err
			}
			n, i = n+size, i+read
		default:
			size, err := s.character(i)
			if err != nil {
				return nil, err
			}
			n, i = n+copy(dst[n:], s.data[i:i+size]), i+size
		}
	}
	return nil, s.unterminated()
}

// room returns a buffer that starts with kept and has space for at least need more
// bytes. A small chunk suffices for texts with few escapes; a larger one is allocated
// once, for the rest of the text.
func (s *Scanner) room(kept []byte, need, at int) []byte {
	need += len(kept) + margin
	if kept == nil && need <= len(s.spare) {
		return s.spare
	}
	size := need + len(s.data) - at
	if kept == nil && need <= chunk {
		size = min(size, chunk)
	}
	dst := make([]byte, size)
	copy(dst, kept)
	return dst
}

// short maps the escapes of one character to their values.
var short = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// escape decodes the escape at i into dst and returns the bytes written and read.
func (s *Scanner) escape(dst []byte, i int) (size, read int, err error) {
	if i+1 >= len(s.data) {
		return 0, 0, s.unterminated()
	}
	if c := short[s.data[i+1]]; c != 0 {
		dst[0] = c
		return 1, 2, nil
	}
	r, ok := hex4(s.data[i:])
	if !ok {
		return 0, 0, &Error{i, Malformed, "a string contains an unknown escape"}
	}
	if !utf16.IsSurrogate(r) {
		return utf8.EncodeRune(dst, r), 6, nil
	}
	low, ok := hex4(s.data[i+6:])
	r = utf16.DecodeRune(r, low)
	if !ok || r == utf8.RuneError {
		return 0, 0, &Error{i, InvalidUTF8, "a string contains half of a surrogate pair"}
	}
	return utf8.EncodeRune(dst, r), 12, nil
}

// hex4 reads an escape of the form \uXXXX.
func hex4(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range b[2:6] {
		switch {
		case isDigit(c):
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// plain returns the index of the first byte from i on that is not a plain
// character of a string, or the length of data.
func plain(data []byte, i int) int {
	for ; len(data)-i >= 8; i += 8 {
		if k := firstSpecial(binary.LittleEndian.Uint64(data[i:])); k < 8 {
			return i + k
		}
	}
	for ; i < len(data); i++ {
		if c := data[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return i
		}
	}
	return i
}

const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// firstSpecial returns the index of the first byte of a word, lowest first, that is a
// control character, a quote, a backslash or not ASCII, or 8 if none is. A subtraction
// sets the high bit of each smaller byte; its borrow changes only bytes after the first
// hit.
func firstSpecial(word uint64) int {
	quote, backslash := word^('"'*ones), word^('\\'*ones)
	hits := (word | (word - ' '*ones) | (quote - ones) | (backslash - ones)) & highs
	return bits.TrailingZeros64(hits) / 8
}

// character returns the length of the character at i of a string.
func (s *Scanner) character(i int) (size int, err error) {
	r, size := utf8.DecodeRune(s.data[i:])
	switch {
	case r < ' ':
		return 0, &Error{i, Malformed, "a string contains a control character"}
	case r == utf8.RuneError && size == 1:
		return 0, &Error{i, InvalidUTF8, "the text is not valid UTF-8"}
	case r == utf8.RuneError:
		s.replaced = true
	}
	return size, nil
}

func (s *Scanner) unterminated() error {
	return &Error{len(s.data), Malformed, "unterminated string"}
}

func (s *Scanner) number() error {
	if s.data[s.pos] == '-' {
		s.pos++
	}
	if s.at('0') {
		s.pos++
	} else if !s.digits() {
		return s.malformed("number without digits")
	}
	if s.at('.') {
		s.pos++
		if !s.digits() {
			return s.malformed("number without digits after the decimal point")
		}
	}
	if s.at('e') || s.at('E') {
		s.pos++
		if s.at('+') || s.at('-') {
			s.pos++
		}
		if !s.digits() {
			return s.malformed("number without digits in the exponent")
		}
	}
	return nil
}

func (s *Scanner) at(c byte) bool { return s.pos < len(s.data) && s.data[s.pos] == c }

func (s *Scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.data) && isDigit(s.data[s.pos]) {
		s.pos++
	}
	return s.pos > start
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func (s *Scanner) literal() error {
	for _, word := range [...]string{"true", "false", "null"} {
		if rest := s.data[s.pos:]; len(rest) >= len(word) && string(rest[:len(word)]) == word {
			s.pos += len(word)
			return nil
		}
	}
	return s.malformed("expected a value")
}
