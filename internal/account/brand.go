package account

import (
	"cmp"
	"strings"
	"unicode"
)

// MaxSenderName is the maximum length of a sender's name, in characters.
const MaxSenderName = 100

// Brand is how the dashboard shows a tenant and the sender of its messages. The provider
// knows nothing of it.
type Brand struct {
	Tenant string // name of the tenant
	Sender string // name of the sender, "" for the tenant's
	// Logo is the key of an uploaded image, "" for none.
	Logo string
	// Revision is the number of changes, 0 before the first.
	Revision int
}

// SenderName returns the name of the sender.
func (b Brand) SenderName() string { return cmp.Or(b.Sender, b.Tenant) }

// LogoLink returns the URL of the logo, "" if there is none. base is the address of uploaded
// files.
func (b Brand) LogoLink(base string) string {
	if b.Logo == "" || base == "" {
		return ""
	}
	return base + "/" + b.Logo
}

// Initials returns the first letters of a name's first two words, in upper case.
func Initials(name string) string {
	var initials strings.Builder
	words := strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, word := range words[:min(len(words), 2)] {
		for _, first := range word {
			initials.WriteRune(unicode.ToUpper(first))
			break
		}
	}
	return initials.String()
}
