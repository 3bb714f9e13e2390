package content

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// The codes of values that no message can show.
const (
	CodeInvalidCharacter = "invalid_character" // the value contains NUL
	CodeInvalidUTF8      = "invalid_utf8"      // letters of the value were lost before it came here
)

// ValueFault returns the code of why messages cannot show the value of a variable, or "". replaced reports whether the
// value contains the character U+FFFD as such: some program has written it in place of letters that it could not read.
func ValueFault(value []byte, replaced bool) (code, detail string) {
	switch {
	case bytes.IndexByte(value, 0) >= 0:
		return CodeInvalidCharacter, "contains the character NUL (U+0000)"
	case replaced:
		return CodeInvalidUTF8, "contains U+FFFD, which stands for letters that were not valid UTF-8: send the body in UTF-8"
	}
	return "", ""
}

// HasControls reports whether a value contains control characters that messages leave out: all but line feed and tab.
func HasControls[T string | []byte](value T) bool {
	for i := range len(value) {
		if odd[value[i]] && control(value, i) {
			return true
		}
	}
	return false
}

// odd are the bytes with which a control character begins, or may begin.
var odd = func() (all [256]bool) {
	for c := range byte(' ') {
		all[c] = c != '\n' && c != '\t'
	}
	all['\x7f'], all[latin] = true, true
	return all
}()

// latin is the first byte of U+0080 to U+00BF. Those up to U+009F are control characters.
const latin = 0xC2

// control reports whether a control character begins at an odd byte.
func control[T string | []byte](value T, i int) bool {
	return value[i] != latin || i+1 < len(value) && value[i+1] >= utf8.RuneSelf && value[i+1] < 0xA0
}

// ShownLen returns the number of bytes of a value that a message shows.
func ShownLen(value []byte) int {
	if !HasControls(value) {
		return len(value)
	}
	return len(withoutControls(string(value)))
}

func withoutControls(value string) string {
	if !HasControls(value) {
		return value
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= '\x7f' && r < 0xA0 {
			return -1
		}
		return r
	}, value)
}
