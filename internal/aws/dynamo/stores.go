package dynamo

// AuthStore reads and writes credentials, refresh tokens, the sessions of people and rate
// limits. See the package documentation for the rows.
type AuthStore struct{ table }

// NewAuthStore returns the AuthStore of the tables.
func NewAuthStore(t Tables) *AuthStore { return &AuthStore{table{t}} }

// Stores are the stores of all subjects but that of AuthStore, as one value. Who uses it declares what it needs of them.
// A function that must start fast takes the store of one subject, which links less.
type Stores struct {
	*BatchStore
	*CampaignStore
	*ContentStore
	*DeliveryStore
	*EndpointStore
	*ErasureStore
	*FileStore
	*OutcomeStore
	*RecipientStore
	*SettingStore
	*TenantStore
}

// New returns the Stores of the tables.
func New(tables Tables) *Stores {
	t := table{tables}
	return &Stores{
		BatchStore:     &BatchStore{t},
		CampaignStore:  &CampaignStore{t},
		ContentStore:   &ContentStore{t},
		DeliveryStore:  &DeliveryStore{t},
		EndpointStore:  &EndpointStore{t},
		ErasureStore:   &ErasureStore{t},
		FileStore:      &FileStore{t},
		OutcomeStore:   &OutcomeStore{t},
		RecipientStore: &RecipientStore{t},
		SettingStore:   &SettingStore{t},
		TenantStore:    &TenantStore{t},
	}
}

// BatchStore reads and writes batches: their state, when they are due, their release, pause and end.
type BatchStore struct{ table }

// CampaignStore accepts calls, reads campaigns as they are listed and shown, and moves them to another time.
type CampaignStore struct{ table }

// ContentStore reads and writes templates with their versions, and uploaded media.
type ContentStore struct{ table }

// DeliveryStore reads and writes webhook deliveries that are due, parked or dead, and posts that are kept to look at.
type DeliveryStore struct{ table }

// EndpointStore reads and writes webhook endpoints with their keys and kinds, their circuits and their failed webhooks.
type EndpointStore struct{ table }

// ErasureStore reads and writes what the erasure of a tenant and of a phone number reads, replaces and deletes.
type ErasureStore struct{ table }

// FileStore reads and writes files that people send and get: submissions with the columns that are known, and exports.
type FileStore struct{ table }

// OutcomeStore reads and writes outcomes: ledgers, taps and clicks, results of campaigns, and counts of days and hours.
type OutcomeStore struct{ table }

// RecipientStore reads and writes what recipients asked for: replies, opt-outs, and lists of numbers that get no messages.
type RecipientStore struct{ table }

// SettingStore reads and writes what the people of a tenant set: brand, test numbers, sending hours, approval and budgets with
// what was spent of them. It has the log of these changes, and what needs attention.
type SettingStore struct{ table }

// TenantStore reads and writes tenants, their agents with owners and rates, and pauses.
type TenantStore struct{ table }
