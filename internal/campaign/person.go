package campaign

// Person is a dashboard user of a tenant.
type Person struct {
	Email  string
	Tenant string
	Role   string // "admin" or "viewer"
}
