package campaign

import (
	"strings"

	"campaign-dispatch/internal/campaign/pattern"
)

var uuid = pattern.AtFirstUse(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// ParseUUID returns a UUID of the form 8-4-4-4-12 in lower case, whatever its version. It
// returns false for other texts. IDs of campaigns and templates are UUIDs.
func ParseUUID(s string) (id string, ok bool) {
	if !uuid().MatchString(s) {
		return "", false
	}
	return strings.ToLower(s), true
}
