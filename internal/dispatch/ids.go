package dispatch

import "strings"

// id returns the campaign ID in lower case.
func (q *request) id() string {
	if !isUUID(q.campaignID.value) {
		return ""
	}
	return strings.ToLower(q.campaignID.value)
}

// template returns the template ID in lower case, or "" if it is not a UUID.
func (q *request) template() string {
	if !isUUID(q.templateID.value) {
		return ""
	}
	return strings.ToLower(q.templateID.value)
}

// isUUID reports whether s is 8-4-4-4-12 hexadecimal digits, of any UUID version.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if s[i] != '-' {
				return false
			}
			continue
		}
		if !isHex(s[i]) {
			return false
		}
	}
	return true
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
