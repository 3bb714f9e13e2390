package account

import "time"

// AuditEntry is a change made by a user in the dashboard, or a sign-in or sign-out.
type AuditEntry struct {
	Tenant  string
	At      time.Time
	Who     string // the user's email address
	Action  string // for example credential.create
	Subject string // ID or name of the changed object, never a secret or a phone number
	// Details are the options that the user chose, as keys of the dashboard texts, and the
	// times that changed, so that each reader sees them in their own language.
	Details []string
	// Link is the dashboard's path of the changed object, "" if it has no page.
	Link string
	// Cursor is the place in the log. Audit sets none, AuditLog sets it.
	Cursor string
}
