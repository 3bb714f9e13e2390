package campaign

// Person is somebody of a tenant who may sign in to the dashboard.
type Person struct {
	Email  string
	Tenant string
	Role   string // "admin" or "viewer"
}
