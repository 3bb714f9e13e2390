package account

// MaxTestNumbers is the maximum number of a tenant's saved numbers for tests.
const MaxTestNumbers = 10

// TestNumber is a saved number that gets test messages.
type TestNumber struct {
	Name  string `json:"name"`
	Phone string `json:"phone"` // E.164
}

// TestNumbers are the saved numbers of a tenant.
type TestNumbers struct {
	All []TestNumber
	// Revision is the number of changes, 0 before the first.
	Revision int
}
