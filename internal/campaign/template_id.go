package campaign

import "strings"

// ParseTemplateID returns a UUID of the form 8-4-4-4-12 in lower case. It returns false for
// other texts.
func ParseTemplateID(s string) (string, bool) { return strings.ToLower(s), uuid.MatchString(s) }
