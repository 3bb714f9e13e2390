package account

// Person is a dashboard user of a tenant.
type Person struct {
	Email  string
	Tenant string
	Role   string // "admin", "author", "approver" or "viewer"
	// Pending reports that the person has not signed in yet. Only lists set it.
	Pending bool
}
