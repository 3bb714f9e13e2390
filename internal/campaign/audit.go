package campaign

import "time"

// AuditEntry is a change that a person made in the dashboard.
type AuditEntry struct {
	Tenant  string
	At      time.Time
	Who     string // the person's address
	Action  string // such as credential.create
	Subject string // what was changed: an id or a name, never a secret or a number
}
