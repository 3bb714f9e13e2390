package jsonscan

import "strings"

// Pointer returns the JSON pointer (RFC 6901) of the reference tokens. Without tokens
// it is "", the whole document.
func Pointer(tokens ...string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(t, "~", "~0"), "/", "~1"))
	}
	return b.String()
}
