package jsonscan

import "strings"

// Pointer returns the JSON pointer (RFC 6901) of the reference tokens, from the
// root on; none give the pointer to the whole text, "".
func Pointer(tokens ...string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(t, "~", "~0"), "/", "~1"))
	}
	return b.String()
}
