package campaign

import "strings"

// ParseTemplateID returns a template's id as the service knows it, in lower case,
// for a UUID in its 8-4-4-4-12 form; and false for other texts.
func ParseTemplateID(s string) (string, bool) { return strings.ToLower(s), uuid.MatchString(s) }
