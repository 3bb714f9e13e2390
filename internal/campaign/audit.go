package campaign

import "time"

// AuditEntry is a change that a person made in the dashboard, or a sign-in or
// sign-out.
type AuditEntry struct {
	Tenant  string
	At      time.Time
	Who     string // the person's address
	Action  string // such as credential.create
	Subject string // what was changed: an id or a name, never a secret or a number
	// Details are the choices that the person made, as keys of the dashboard's
	// texts: each reader sees them in their own language.
	Details []string
}
